import Foundation
import KeyOperations
import KeyShareProtocol
import OpenSSL
import PersistentToken
import SecretMemory
import Testing

/// A key, with signatures, ciphertexts and secrets that another implementation created with it
/// (`Vectors/make-vectors`).
struct KeyVectors: Decodable {
    struct Row: Decodable {
        let algorithm: String
        let input: String
        let result: String
        let sharedInfo: String?
        let associatedData: String?
    }

    let key: String
    let pkcs8: String
    let rows: [Row]

    static let all: [KeyVectors] = {
        guard let url = Bundle.module.url(forResource: "vectors", withExtension: "json"),
            let bytes = try? Data(contentsOf: url),
            let vectors = try? JSONDecoder().decode([KeyVectors].self, from: bytes)
        else { return [] }
        return vectors
    }()

    func privateKey() throws -> PrivateKey { try PrivateKey(pkcs8: SecretBytes(bytes(pkcs8))) }
}

extension KeyVectors: CustomTestStringConvertible {
    var testDescription: String { key }
}

/// Decodes hexadecimal digits; nil is decoded as no bytes.
func bytes(_ digits: String?) -> [UInt8] {
    var rest = Substring(digits ?? "")
    var bytes: [UInt8] = []
    while !rest.isEmpty {
        bytes.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
        rest = rest.dropFirst(2)
    }
    return bytes
}

func plain(_ secret: SecretBytes) -> [UInt8] { secret.withTransientArray { $0.map(\.self) } }

@Suite("Key algorithms against another implementation", .timeLimit(.minutes(10)))
struct VectorTests {
    @Test("The vectors cover six keys and every algorithm")
    func completeness() {
        #expect(
            KeyVectors.all.map(\.key) == ["RSA-1024", "RSA-2048", "RSA-3072", "RSA-4096", "P-256", "P-384"])
        let named = Set(KeyVectors.all.flatMap(\.rows).map(\.algorithm))
        #expect(named == Set(SecKeyAlgorithm.allCases.map(\.name)))
    }

    @Test(
        "Signatures from the other implementation verify, and altered ones do not", arguments: KeyVectors.all)
    func signatures(vectors: KeyVectors) throws {
        let key = try vectors.privateKey().publicKey
        for row in vectors.rows {
            let algorithm = try #require(SecKeyAlgorithm(named: row.algorithm))
            guard algorithm.operation == .sign else { continue }
            var signature = bytes(row.result)
            #expect(try key.verify(signature, of: bytes(row.input), algorithm), "\(row.algorithm)")
            signature[signature.count - 1] ^= 1
            #expect(try !key.verify(signature, of: bytes(row.input), algorithm), "\(row.algorithm), altered")
        }
    }

    @Test(
        "Deterministic signatures equal those of the other implementation bit for bit",
        arguments: KeyVectors.all)
    func deterministic(vectors: KeyVectors) throws {
        let key = try vectors.privateKey()
        for row in vectors.rows {
            let algorithm = try #require(SecKeyAlgorithm(named: row.algorithm))
            guard algorithm.operation == .sign, algorithm.family == .rsa else { continue }
            if case .rsaSignaturePSS = algorithm { continue }
            #expect(try key.sign(bytes(row.input), algorithm) == bytes(row.result), "\(row.algorithm)")
        }
    }

    @Test(
        "Ciphertexts from the other implementation can be decrypted, and altered ones cannot",
        arguments: KeyVectors.all)
    func ciphertexts(vectors: KeyVectors) throws {
        let key = try vectors.privateKey()
        for row in vectors.rows {
            let algorithm = try #require(SecKeyAlgorithm(named: row.algorithm))
            guard algorithm.operation == .decrypt else { continue }
            let parameters = KeyOperationParameters(
                sharedInfo: bytes(row.sharedInfo), associatedData: bytes(row.associatedData))
            var ciphertext = bytes(row.result)
            let plaintext = try key.decrypt(ciphertext, algorithm, parameters: parameters)
            #expect(plain(plaintext) == bytes(row.input), "\(row.algorithm)")
            ciphertext[ciphertext.count - 1] ^= 1
            let altered = try? key.decrypt(ciphertext, algorithm, parameters: parameters)
            #expect(altered.map(plain) != bytes(row.input), "\(row.algorithm), altered")
        }
    }

    @Test("Key exchanges return the secrets that pyca/cryptography derived", arguments: KeyVectors.all)
    func exchanges(vectors: KeyVectors) throws {
        let key = try vectors.privateKey()
        for row in vectors.rows {
            let algorithm = try #require(SecKeyAlgorithm(named: row.algorithm))
            guard algorithm.operation == .keyExchange else { continue }
            let expected = bytes(row.input)
            let secret = try key.exchangeKey(
                with: bytes(row.result), algorithm,
                parameters: KeyOperationParameters(
                    requestedSize: expected.count, sharedInfo: bytes(row.sharedInfo)))
            #expect(plain(secret) == expected, "\(row.algorithm)")
        }
    }
}

@Suite("Operations of private and public keys", .timeLimit(.minutes(10)))
struct KeyOperationTests {
    private static let message = Array("a message of some length".utf8)

    @Test(
        "A key of any type performs the operations that it supports, and rejects all others",
        arguments: KeyVectors.all)
    func matrix(vectors: KeyVectors) throws {
        let key = try vectors.privateKey()
        let publicKey = key.publicKey
        for algorithm in SecKeyAlgorithm.allCases {
            guard algorithm.isSupported(by: key.type, bits: key.bits) else {
                #expect(throws: TokenError(.badParameter, ""), "\(algorithm.name)") {
                    try use(key, algorithm)
                }
                continue
            }
            switch algorithm.operation {
            case .sign:
                let input = Self.input(algorithm)
                let signature = try key.sign(input, algorithm)
                #expect(try publicKey.verify(signature, of: input, algorithm), "\(algorithm.name)")
            case .decrypt:
                let secret = Array(Self.message.prefix(16))
                guard !Self.isTooSmall(key, algorithm, secret.count) else { continue }
                let ciphertext = try publicKey.encrypt(SecretBytes(secret), algorithm)
                #expect(
                    plain(try key.decrypt(ciphertext, algorithm)).suffix(16) == secret[...],
                    "\(algorithm.name)")
            case .keyExchange:
                let other = try PrivateKey.generate(key.bits == 256 ? .p256 : .p384)
                let parameters = KeyOperationParameters(requestedSize: 40, sharedInfo: [1, 2])
                let mine = try key.exchangeKey(
                    with: Array(other.publicKey.keyOctets), algorithm, parameters: parameters)
                let theirs = try other.exchangeKey(
                    with: Array(publicKey.keyOctets), algorithm, parameters: parameters)
                #expect(mine == theirs, "\(algorithm.name)")
            }
        }
    }

    @Test("RSA-1024 supports neither PSS nor OAEP with SHA-512, because the modulus is too small")
    func small() throws {
        let supported = SecKeyAlgorithm.allCases.filter { $0.isSupported(by: .rsa, bits: 1024) }.map(\.name)
        let all = SecKeyAlgorithm.allCases.filter { $0.family == .rsa }.map(\.name)
        #expect(
            Set(all).subtracting(supported) == [
                "RSASignatureMessagePSSSHA512", "RSASignatureDigestPSSSHA512", "RSAEncryptionOAEPSHA512",
                "RSAEncryptionOAEPSHA512AESGCM",
            ])
    }

    @Test("Data of the wrong length is rejected as a bad parameter, and the error contains the length")
    func lengths() throws {
        let rsa = try key("RSA-2048")
        let wrong: [(SecKeyAlgorithm, Int)] = [
            (.rsaSignaturePKCS1v15(.digest, .sha256), 31), (.rsaSignaturePSS(.digest, .sha384), 47),
            (.rsaSignatureRaw, 257), (.rsaSignatureDigestPKCS1v15Raw, 246),
        ]
        for (algorithm, count) in wrong {
            let error = #expect(throws: TokenError.self) {
                try rsa.sign([UInt8](repeating: 1, count: count), algorithm)
            }
            #expect(error?.code == .badParameter)
            #expect(error?.obstacle == .wrongLength)
            #expect(error?.reason.contains("\(count)") == true, "\(error?.reason ?? "")")
        }
        #expect(throws: TokenError(.badParameter, "")) {
            try rsa.sign([UInt8](repeating: 0xFF, count: 256), .rsaSignatureRaw)
        }
        #expect(throws: TokenError(.badParameter, "")) {
            try key("P-256").sign([], .ecdsaSignatureDigestX962Raw)
        }
    }

    @Test("The smallest RSA keys of an algorithm hold its digest, its salt and its padding")
    func smallest() {
        let cases: [(SecKeyAlgorithm, Int)] = [
            (.rsaSignaturePKCS1v15(.digest, .sha1), 361), (.rsaSignaturePKCS1v15(.digest, .sha256), 489),
            (.rsaSignaturePSS(.digest, .sha256), 521), (.rsaEncryptionOAEP(.sha256), 521),
        ]
        for (algorithm, bits) in cases {
            #expect(algorithm.isSupported(by: .rsa, bits: bits), "\(algorithm.name)")
            #expect(!algorithm.isSupported(by: .rsa, bits: bits - 1), "\(algorithm.name)")
        }
    }

    @Test("Data of the longest permitted length is signed, and an empty plaintext is encrypted")
    func limits() throws {
        let rsa = try key("RSA-2048")
        #expect(try rsa.sign([0] + [UInt8](repeating: 1, count: 255), .rsaSignatureRaw).count == 256)
        #expect(
            try rsa.sign([UInt8](repeating: 1, count: 245), .rsaSignatureDigestPKCS1v15Raw).count == 256)
        let curve = try key("P-256")
        #expect(throws: TokenError(.badParameter, "")) {
            try curve.sign([UInt8](repeating: 1, count: 65), .ecdsaSignatureDigestX962Raw)
        }
        for (key, algorithm) in [
            (rsa, .rsaEncryptionOAEPAESGCM(.sha256)),
            (curve, .eciesEncryption(isCofactor: false, .sha256, hasVariableIV: false)),
        ] as [(PrivateKey, SecKeyAlgorithm)] {
            let empty = try key.publicKey.encrypt(SecretBytes([UInt8]()), algorithm)
            #expect(try plain(key.decrypt(empty, algorithm)) == [])
        }
    }

    @Test(
        "Encryption with an algorithm that the public key does not support names the algorithm and the key",
        arguments: KeyVectors.all)
    func unsupportedEncryption(vectors: KeyVectors) throws {
        let key = try vectors.privateKey().publicKey
        let unsupported = SecKeyAlgorithm.allCases.filter {
            $0.operation == .decrypt && !$0.isSupported(by: key.type, bits: key.bits)
        }
        #expect(!unsupported.isEmpty)
        for algorithm in unsupported {
            let expected = TokenError.unsupported(algorithm, key.type, bits: key.bits)
            let error = #expect(throws: TokenError.self, "\(algorithm.name)") {
                try key.encrypt(SecretBytes(Self.message), algorithm)
            }
            #expect(error?.reason == expected.reason)
            #expect(error?.obstacle == .wrongAlgorithm)
        }
    }

    @Test("An algorithm of another operation is rejected")
    func operations() throws {
        let (rsa, curve) = (try key("RSA-2048"), try key("P-256"))
        let digest = [UInt8](repeating: 1, count: 32)
        #expect(throws: TokenError(.badParameter, "")) { try rsa.sign(digest, .rsaEncryptionPKCS1) }
        #expect(throws: TokenError(.badParameter, "")) {
            try rsa.decrypt([UInt8](repeating: 1, count: 256), .rsaSignatureRaw)
        }
        #expect(throws: TokenError(.badParameter, "")) {
            try rsa.publicKey.verify([UInt8](repeating: 1, count: 256), of: digest, .rsaEncryptionPKCS1)
        }
        #expect(throws: TokenError(.badParameter, "")) {
            try rsa.publicKey.encrypt(SecretBytes(digest), .rsaSignaturePKCS1v15(.digest, .sha256))
        }
        let signature = try curve.sign(digest, .ecdsaSignatureRFC4754)
        #expect(signature.count == 64)
        #expect(try curve.publicKey.verify(signature, of: digest, .ecdsaSignatureRFC4754))
        var padded = signature
        padded.insert(0, at: 32)
        padded.insert(0, at: 0)
        #expect(try !curve.publicKey.verify(padded, of: digest, .ecdsaSignatureRFC4754))
        let concatenated = try curve.sign(
            digest, .ecdsaSignatureX962(.digest, .sha256), parameters: .init(isSignatureConcatenated: true))
        #expect(concatenated.count == 64)
    }

    @Test("Invalid ciphertexts of every length up to more than a block are reported as corrupted data")
    func rubbish() throws {
        for vectors in KeyVectors.all where ["RSA-2048", "P-256"].contains(vectors.key) {
            let key = try vectors.privateKey()
            for algorithm in SecKeyAlgorithm.allCases
            where algorithm.operation == .decrypt && algorithm != .rsaEncryptionRaw
                && algorithm.isSupported(by: key.type, bits: key.bits)
            {
                for count in [0, 1, 15, 16, 64, 65, 81, 255, 256, 257, 272, 300] {
                    let error = #expect(throws: TokenError.self, "\(algorithm.name), \(count)") {
                        try key.decrypt([UInt8](repeating: 4, count: count), algorithm)
                    }
                    #expect(error?.code == .corruptedData || error?.code == .badParameter)
                }
            }
        }
    }

    @Test("A key exchange with a point that is not on the curve fails")
    func points() throws {
        let key = try key("P-256")
        var point = Array(key.publicKey.keyOctets)
        point[40] ^= 1
        for bad in [
            point, [], [4], [UInt8](repeating: 0, count: 65),
            Array(try self.key("P-384").publicKey.keyOctets),
        ] {
            #expect(throws: TokenError(.badParameter, "")) {
                try key.exchangeKey(
                    with: bad, .ecdhKeyExchange(isCofactor: false, nil), parameters: KeyOperationParameters())
            }
        }
    }

    @Test("The operations that OpenSSL requests from an external key have algorithms of the token")
    func requestedOperations() throws {
        let data = [UInt8](repeating: 1, count: 32)
        let cases: [(PrivateKeyUse, SecKeyAlgorithm)] = [
            (.signRSA(data, .none), .rsaSignatureRaw),
            (.signRSA(data, .pkcs1(nil)), .rsaSignatureDigestPKCS1v15Raw),
            (.signRSA(data, .pkcs1(.sha256)), .rsaSignaturePKCS1v15(.digest, .sha256)),
            (.decryptRSA(data, .none), .rsaEncryptionRaw),
            (.decryptRSA(data, .pkcs1(nil)), .rsaEncryptionPKCS1),
            (.signECDSA(data), .ecdsaSignatureX962(.digest, .sha256)),
            (.agree(data), .ecdhKeyExchange(isCofactor: false, nil)),
        ]
        for (use, expected) in cases {
            let request = try SecKeyAlgorithm.of(use)
            #expect(request.algorithm == expected && request.data == data, "\(expected.name)")
        }
        // A digest whose length is that of no digest algorithm.
        let short = try SecKeyAlgorithm.of(.signECDSA([1, 2, 3]))
        #expect(short.algorithm == .ecdsaSignatureDigestX962Raw && short.data == [1, 2, 3])
    }

    @Test("PSS, OAEP and decryption with a digest are not requested from the token")
    func requestedPaddings() {
        let data = [UInt8](repeating: 1, count: 32)
        let uses: [PrivateKeyUse] = [
            .signRSA(data, .pss(.sha256, mask: .sha256, saltLength: 32)),
            .signRSA(data, .oaep(.sha256, mask: .sha256, label: [])),
            .decryptRSA(data, .oaep(.sha256, mask: .sha256, label: [])),
            .decryptRSA(data, .pkcs1(.sha256)),
        ]
        for use in uses {
            let error = #expect(throws: TokenError.self) { _ = try SecKeyAlgorithm.of(use) }
            #expect(error?.code == .badParameter && error?.obstacle == .wrongAlgorithm)
        }
    }

    private func key(_ name: String) throws -> PrivateKey {
        try #require(KeyVectors.all.first { $0.key == name }).privateKey()
    }

    private func use(_ key: PrivateKey, _ algorithm: SecKeyAlgorithm) throws {
        switch algorithm.operation {
        case .sign: _ = try key.sign(Self.input(algorithm), algorithm)
        case .decrypt: _ = try key.decrypt(Self.message, algorithm)
        case .keyExchange:
            _ = try key.exchangeKey(with: Self.message, algorithm, parameters: KeyOperationParameters())
        }
    }

    private static func input(_ algorithm: SecKeyAlgorithm) -> [UInt8] {
        if algorithm.takesMessage { return message }
        return [UInt8](repeating: 7, count: algorithm.digest?.byteCount ?? 32)
    }

    /// Returns whether the plaintext, or the session key, is too long for OAEP with this digest.
    private static func isTooSmall(_ key: PrivateKey, _ algorithm: SecKeyAlgorithm, _ count: Int) -> Bool {
        switch algorithm {
        case .rsaEncryptionOAEP(let digest), .rsaEncryptionOAEPAESGCM(let digest):
            key.bits / 8 < 2 * digest.byteCount + 2 + count
        default: false
        }
    }
}
