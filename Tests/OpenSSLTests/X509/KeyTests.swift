import COpenSSL
import KeySharing
import SecretMemory
import StandardExtensions
@testable import OpenSSL
import Testing

@Suite("Private keys", .timeLimit(.minutes(10)))
struct KeyTests {
    @Test("A private key of every type can be written as PKCS #8 and loaded again", arguments: SampleKeys.all)
    func samples(sample: SampleKeys.Sample) throws {
        let key = try PrivateKey(pkcs8: SecretBytes(sample.pkcs8))
        #expect(key.type == sample.type)
        #expect(key.bits == sample.bits)
        #expect(key.publicKey.type == sample.type)
        #expect(key.publicKey.bits == sample.bits)
        let again = try PrivateKey(pkcs8: key.pkcs8())
        #expect(again.publicKey == key.publicKey)
        #expect(again.matches(key.publicKey))
    }

    @Test(
        "A generated key has the requested type and size, and can be loaded from its PKCS #8 form",
        arguments: [
            (.p256, .ec(curve: "P-256"), 256), (.p384, .ec(curve: "P-384"), 384),
            (.rsa(bits: 2048), .rsa, 2048),
        ] as [(KeyAlgorithm, KeyType, Int)])
    func generated(algorithm: KeyAlgorithm, type: KeyType, bits: Int) throws {
        let key = try PrivateKey.generate(algorithm)
        #expect(key.type == type)
        #expect(key.bits == bits)
        #expect(try PrivateKey(pkcs8: key.pkcs8()).matches(key.publicKey))
    }

    @Test("Several threads that write one EC key as PKCS #8 at the same time write the same octets")
    func concurrentEncoding() async throws {
        // A single key would rarely show a difference.
        for _ in 0..<200 {
            let key = try PrivateKey.generate(.p256)
            let encodings = try await (0..<8).concurrentMap(width: 8) { _ in
                try unsafe key.pkcs8().withUnsafeBytes { unsafe Array($0) }
            }
            try #require(Set(encodings).count == 1)
        }
    }

    @Test(
        "The reusable decoder loads RSA and EC keys", arguments: [KeyAlgorithm.rsa(bits: 2048), .p256, .p384])
    func decoder(algorithm: KeyAlgorithm) throws {
        let encoded = try PrivateKey.generate(algorithm).pkcs8()
        // The second key is loaded by the decoder that loaded the first one.
        for _ in 0..<2 {
            let info = unsafe encoded.withUnsafeBytes { bytes in
                var cursor: UnsafePointer<UInt8>? = unsafe bytes.baseAddress?.assumingMemoryBound(
                    to: UInt8.self)
                return unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, &cursor, bytes.count)
            }
            defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
            let key = unsafe PrivateKeyDecoder.key(of: try #require(info))
            #expect(unsafe key != nil)
            unsafe EVP_PKEY_free(key)
        }
        #expect(OpenSSLError.draining("loading").queue.isEmpty)
    }

    @Test("A key size that OpenSSL rejects is an error")
    func impossible() {
        #expect(throws: OpenSSLError.self) { try PrivateKey.generate(.rsa(bits: 8)) }
    }

    @Test("A private key matches only the certificate with its public key")
    func matches() throws {
        let certificate = try TestPKI.leaf()
        #expect(TestPKI.leafKey.matches(certificate))
        #expect(!TestPKI.rootKey.matches(certificate))
        #expect(!TestPKI.rsaKey.matches(certificate))
    }

    @Test(
        "A private key of an unknown type or curve is rejected, and the error contains the object identifier",
        arguments: [
            ("302e020100300506032b650704220420" + String(repeating: "11", count: 32), "1.3.101.7"),
            // ML-DSA-44 with a seed.
            (
                "3034020100300b06096086480165030403110422" + "8020" + String(repeating: "22", count: 32),
                "2.16.840.1.101.3.4.3.17"
            ),
            // An elliptic curve with the identifier 1.2.3.4.
            (
                "3025020100300e06072a8648ce3d020106032a03040410" + String(repeating: "33", count: 16),
                "1.2.3.4"
            ),
        ])
    func unsupported(hex: String, oid: String) {
        #expect(throws: CertificateError(.unsupportedKey(oid: oid), "")) {
            try PrivateKey(pkcs8: SecretBytes([UInt8](hex: hex)))
        }
    }

    @Test("A private key with invalid contents, missing bytes or trailing data is rejected")
    func malformed() {
        let bytes = SampleKeys.ed25519.pkcs8
        let short = [UInt8](hex: "3010020100300506032b65700404") + [0x04, 0x02, 1, 2]
        #expect(throws: CertificateError(.malformedKey, "")) { try PrivateKey(pkcs8: SecretBytes(short)) }
        #expect(throws: CertificateError(.malformed, "")) {
            try PrivateKey(pkcs8: SecretBytes(bytes.dropLast()))
        }
        #expect(throws: CertificateError(.malformed, "")) { try PrivateKey(pkcs8: SecretBytes([UInt8]())) }
        #expect(throws: CertificateError(.trailingBytes, "")) {
            try PrivateKey(pkcs8: SecretBytes(bytes + [0]))
        }
    }

    @Test("Many tasks that load keys concurrently each get the right key, even after rejected keys")
    func loadedAtOnce() async throws {
        let keys = try [KeyAlgorithm.rsa(bits: 1024), .p256, .p384, .rsa(bits: 1024), .p256].map {
            try PrivateKey.generate($0)
        }
        let encoded = try keys.map { try $0.pkcs8() }
        // These differ from the keys in their last octet. OpenSSL rejects them, or loads another key.
        let broken = encoded.map { octets in
            SecretBytes(unsafe octets.withUnsafeBytes { unsafe Array($0.dropLast()) } + [0])
        }
        let publicKeys = keys.map(\.publicKey)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for turn in 0..<100 {
                group.addTask {
                    let index = turn % encoded.count
                    if turn.isMultiple(of: 3) { _ = try? PrivateKey(pkcs8: broken[index]) }
                    let key = try PrivateKey(pkcs8: encoded[index])
                    return publicKeys.indices.allSatisfy {
                        key.matches(publicKeys[$0]) == ($0 == index)
                    }
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }

    @Test("The description of a private key contains only its type and size")
    func description() {
        #expect("\(TestPKI.leafKey)" == "EC private key, 256 bits")
        #expect(Mirror(reflecting: TestPKI.leafKey).children.isEmpty)
    }

    @Test("Only the key algorithms that commands offer can be found by name")
    func algorithmNames() {
        #expect(KeyAlgorithm.allCases.map(\.rawValue) == ["rsa2048", "rsa3072", "rsa4096", "p256", "p384"])
        for algorithm in KeyAlgorithm.allCases {
            #expect(KeyAlgorithm(rawValue: algorithm.rawValue) == algorithm)
        }
        #expect(KeyAlgorithm(rawValue: "rsa1024") == nil)
    }

    @Test(
        "A key permits the operations that its type and the key usage allow",
        arguments: [
            (.rsa, nil, "decrypt sign unwrap"), (.rsa, .digitalSignature, "sign"),
            (.rsa, .keyEncipherment, "decrypt unwrap"), (.rsa, .dataEncipherment, "decrypt"), (.rsa, [], ""),
            (.ec(curve: "P-256"), nil, "sign derive"), (.ec(curve: "P-256"), .keyAgreement, "derive"),
            (.ec(curve: "P-256"), .digitalSignature, "sign"), (.x25519, .digitalSignature, ""),
            (.ed25519, nil, "sign"), (.x25519, nil, "derive"), (.ed448, nil, "sign"), (.x448, nil, "derive"),
            (.dsa, nil, "sign"), (.dsa, .keyEncipherment, ""),
            (.other("1.2.3"), nil, ""),
        ] as [(KeyType, KeyUsage?, String)])
    func capabilities(type: KeyType, usage: KeyUsage?, text: String) {
        let mine = KeyCapabilities(.private, type: type, usage: usage)
        let theirs = KeyCapabilities(.public, type: type, usage: usage)
        let flags = [
            (mine.canDecrypt, "decrypt"), (mine.canSign, "sign"), (mine.canDerive, "derive"),
            (mine.canUnwrap, "unwrap"),
        ]
        #expect(flags.filter(\.0).map(\.1).joined(separator: " ") == text)
        #expect(mine.canDecrypt == theirs.canEncrypt && mine.canSign == theirs.canVerify)
        #expect(mine.canUnwrap == theirs.canWrap && !theirs.canDerive)
        #expect(!mine.canEncrypt && !mine.canVerify && !mine.canWrap)
        #expect(!theirs.canDecrypt && !theirs.canSign && !theirs.canUnwrap)
    }

    @Test("A public key can be read from its encoding, and is rejected if data follows it")
    func publicKey() throws {
        let key = TestPKI.rsaKey.publicKey
        #expect(try PublicKey(spki: key.spki) == key)
        #expect(key.keyIdentifier == Digest.sha1(key.keyOctets))
        #expect(key.keyOctets.first == 0x30)
        #expect(throws: CertificateError(.trailingBytes, "")) { try PublicKey(spki: key.spki + [0]) }
    }

    @Test("Algorithms that NIST has standardized have a name even if OpenSSL 3.0 does not support them")
    func names() {
        #expect(KeyType.other("2.16.840.1.101.3.4.3.18").name == "ML-DSA-65")
        #expect(KeyType.other("1.2.3.4").name == "1.2.3.4")
        #expect(KeyType.ec(curve: "P-384").name == "EC")
    }
}
