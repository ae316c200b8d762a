import SecretMemory
@testable import OpenSSL
import SwiftASN1
import TestSupport
import Testing

/// Files whose layers are written by OpenSSL's own functions, or with OpenSSL's primitives for schemes that it lacks,
/// and read by this module's reader.
@Suite("Algorithms of PKCS #12 files", .timeLimit(.minutes(10)))
struct AlgorithmTests {
    private static let salt: [UInt8] = [8, 7, 6, 5, 4, 3, 2, 1]
    private static let word = "password"

    @Test(
        "A file opens under every scheme of RFC 7292 and PKCS #5 v1.5 that OpenSSL supports",
        arguments: NamedScheme.pbes1)
    func pbes1(scheme: NamedScheme) throws {
        let algorithm = try ASN1.encoded { try $0.appendPBES1(scheme.oid, Self.salt, 3) }
        try expect("\(scheme.name) 3") {
            try LibraryWriter.encrypt($0, algorithm: algorithm, password: Self.word)
        }
    }

    @Test("A file opens under Bouncy Castle's schemes with AES", arguments: NamedScheme.bouncyCastle)
    func bouncyCastle(scheme: NamedScheme) throws {
        let algorithm = try ASN1.encoded { try $0.appendPBES1(scheme.oid, Self.salt, 3) }
        func derived(_ purpose: CInt, _ count: Int) throws -> [UInt8] {
            try LibraryWriter.pkcs12(
                Self.word, salt: Self.salt, purpose: purpose, iterations: 3, digest: scheme.digest,
                count: count)
        }
        let key = try derived(1, scheme.keyLength)
        let vector = try derived(2, 16)
        try expect("\(scheme.name) 3") {
            try LibraryWriter.encrypt(
                $0, algorithm: algorithm, cipher: "AES-\(scheme.keyLength * 8)-CBC", key: key, vector: vector)
        }
    }

    @Test("A file opens under PBES2 with every cipher", arguments: PBES2Cipher.all)
    func pbes2(cipher: PBES2Cipher) throws {
        let keyLength = cipher.statesKeyLength ? cipher.keyLength : nil
        let algorithm = try ASN1.encoded { coder in
            try coder.appendPBES2(
                { try $0.appendPBKDF2(Self.salt, 3, keyLength: keyLength, prf: OID.hmacSHA256) },
                { try cipher.append(to: &$0) })
        }
        let key = try LibraryWriter.pbkdf2(
            Self.word, salt: Self.salt, iterations: 3, digest: "SHA256", count: cipher.keyLength)
        try expect("PBES2 \(cipher.name) PBKDF2 HMAC-SHA-256 3") { plaintext in
            guard let primitive = cipher.primitive else {
                return try LibraryWriter.encrypt(plaintext, algorithm: algorithm, password: Self.word)
            }
            return try LibraryWriter.encrypt(
                plaintext, algorithm: algorithm, cipher: primitive, key: key, vector: cipher.vector,
                tagLength: cipher.tagLength)
        }
    }

    @Test(
        "A layer under AES-GCM does not open if a bit of the ciphertext or of the tag differs, or if a byte is missing"
    )
    func alteredTag() throws {
        let contents = try PKCS12Samples.contents([
            PKCS12Samples.bag(certificate: PKCS12Samples.first.certificate)
        ])
        let layer = try Self.authenticated(SecretBytes(contents), tagLength: 16)
        func verdict(_ ciphertext: [UInt8]) throws -> PKCS12Report.Verdict {
            let safe = try PKCS12Samples.encryptedSafe(
                EncryptedLayer(algorithm: layer.algorithm, ciphertext: ciphertext))
            return PKCS12.inspect(
                try PKCS12Samples.file([safe], mac: .none), password: .text(SecretBytes(utf8: Self.word))
            ).verdict
        }
        #expect(try verdict(layer.ciphertext) == .ok)
        let count = layer.ciphertext.count
        for position in [0, count - 17, count - 16, count - 1] {
            var altered = layer.ciphertext
            altered[position] ^= 1
            #expect(try verdict(altered) == .wrongPassword, "byte \(position) of \(count)")
        }
        #expect(try verdict(layer.ciphertext.dropLast()) == .wrongPassword)
        // A tag without ciphertext has the right form, but does not match.
        #expect(try verdict(Array(layer.ciphertext.suffix(16))) == .wrongPassword)
        // Without the check, these would be decrypted with a shorter tag or none.
        for count in 0..<16 {
            #expect(try verdict(Array(layer.ciphertext.suffix(count))) == .malformed, "\(count) bytes")
        }
    }

    @Test(
        "A layer under AES-GCM is malformed unless its tag has 4 to 16 bytes",
        arguments: [-1, 0, 1, 3, 4, 16, 17, 64])
    func tagLengths(length: Int) throws {
        let contents = try PKCS12Samples.contents([
            PKCS12Samples.bag(certificate: PKCS12Samples.first.certificate)
        ])
        let layer = try Self.authenticated(
            SecretBytes(contents), tagLength: min(max(length, 1), 16), claiming: length)
        let safe = try PKCS12Samples.encryptedSafe(layer)
        let report = PKCS12.inspect(
            try PKCS12Samples.file([safe], mac: .none), password: .text(SecretBytes(utf8: Self.word)))
        #expect(report.verdict == (4...16 ~= length ? .ok : .malformed))
    }

    /// Encrypts a layer with AES-256-GCM. The parameters state `claimed` as the tag's length instead of `tagLength`.
    private static func authenticated(
        _ plaintext: SecretBytes, tagLength: Int, claiming claimed: Int? = nil
    ) throws -> EncryptedLayer {
        let cipher = PBES2Cipher(
            "AES-256-GCM", "2.16.840.1.101.3.4.1.46", 32, .tag(claimed ?? tagLength), primitive: "AES-256-GCM"
        )
        let algorithm = try ASN1.encoded { coder in
            try coder.appendPBES2(
                { try $0.appendPBKDF2(salt, 3, keyLength: nil, prf: OID.hmacSHA256) },
                { try cipher.append(to: &$0) })
        }
        let key = try LibraryWriter.pbkdf2(word, salt: salt, iterations: 3, digest: "SHA256", count: 32)
        return try LibraryWriter.encrypt(
            plaintext, algorithm: algorithm, cipher: "AES-256-GCM", key: key, vector: cipher.vector,
            tagLength: tagLength)
    }

    @Test("A file opens under PBES2 with every pseudo-random function", arguments: PseudoRandomFunction.all)
    func pseudoRandomFunctions(function: PseudoRandomFunction) throws {
        let vector = [UInt8](repeating: 6, count: 16)
        let algorithm = try ASN1.encoded { coder in
            try coder.appendPBES2(
                { try $0.appendPBKDF2(Self.salt, 3, keyLength: nil, prf: function.oid) },
                { cipher in
                    try cipher.objectIdentifier(OID.aes256CBC)
                    try cipher.octets(vector)
                })
        }
        let key = try LibraryWriter.pbkdf2(
            Self.word, salt: Self.salt, iterations: 3, digest: function.digest, count: 32)
        try expect("PBES2 AES-256-CBC PBKDF2 HMAC-\(function.name) 3") {
            try LibraryWriter.encrypt(
                $0, algorithm: algorithm, cipher: "AES-256-CBC", key: key, vector: vector)
        }
    }

    @Test("A file opens under PBES2 with the default pseudo-random function, HMAC-SHA-1")
    func defaultFunction() throws {
        let algorithm = try ASN1.encoded { coder in
            try coder.appendPBES2(
                { try $0.appendPBKDF2(Self.salt, 3, keyLength: nil, prf: nil) },
                { cipher in
                    try cipher.objectIdentifier(OID.tripleDESCBC)
                    try cipher.octets(Self.salt)
                })
        }
        try expect("PBES2 DES-EDE3-CBC PBKDF2 HMAC-SHA-1 3") {
            try LibraryWriter.encrypt($0, algorithm: algorithm, password: Self.word)
        }
    }

    @Test("A file opens under PBES2 with scrypt, with and without a stated key length", arguments: [nil, 32])
    func scrypt(keyLength: Int?) throws {
        let algorithm = try ASN1.encoded { coder in
            try coder.appendPBES2(
                { derivation in
                    try derivation.objectIdentifier(OID.scrypt)
                    try derivation.sequence { values in
                        try values.octets(Self.salt)
                        for number in [1024, 8, 1] { try values.serialize(number) }
                        if let keyLength { try values.serialize(keyLength) }
                    }
                },
                { cipher in
                    try cipher.objectIdentifier(OID.aes256CBC)
                    try cipher.octets([UInt8](repeating: 6, count: 16))
                })
        }
        try expect("PBES2 AES-256-CBC scrypt N=1024 r=8 p=1") {
            try LibraryWriter.encrypt($0, algorithm: algorithm, password: Self.word)
        }
    }

    @Test(
        "A file can be opened whichever supported digest its MAC uses",
        arguments: [
            ("MD4", "HMAC-MD4"), ("MD5", "HMAC-MD5"), ("SHA1", "HMAC-SHA-1"), ("SHA224", "HMAC-SHA-224"),
            ("SHA256", "HMAC-SHA-256"), ("SHA384", "HMAC-SHA-384"), ("SHA512", "HMAC-SHA-512"),
            ("SHA512-224", "HMAC-SHA-512/224"), ("SHA512-256", "HMAC-SHA-512/256"),
            ("SHA3-224", "HMAC-SHA3-224"), ("SHA3-256", "HMAC-SHA3-256"), ("SHA3-384", "HMAC-SHA3-384"),
            ("SHA3-512", "HMAC-SHA3-512"), ("RIPEMD160", "HMAC-RIPEMD-160"), ("SM3", "HMAC-SM3"),
            ("whirlpool", "HMAC-WHIRLPOOL"),
        ])
    func macs(digest: String, name: String) throws {
        let bare = try PKCS12Samples.file(
            [PKCS12Samples.safe([PKCS12Samples.bag(certificate: PKCS12Samples.first.certificate)])],
            mac: .none)
        let file = try LibraryWriter.authenticated(bare, digest: digest, password: Self.word)
        let contents = try PKCS12.read(file, password: .text(SecretBytes(utf8: Self.word)))
        #expect(contents.mac?.algorithm == name)
        #expect(contents.mac?.iterations == 3)
        #expect(contents.certificates == [PKCS12Samples.first.certificate])
        let wrong = PKCS12.inspect(file, password: .text(SecretBytes(utf8: "passwort")))
        #expect(wrong.verdict == .wrongPassword)
    }

    @Test(
        "A file with PBMAC1 opens with every pair of HMAC and pseudo-random function",
        arguments: PseudoRandomFunction.all)
    func pbmac1(mac: PseudoRandomFunction) throws {
        for prf in PseudoRandomFunction.all {
            let file = try Self.file(mac: mac, prf: prf, keyLength: 32)
            let contents = try PKCS12.read(file, password: .text(SecretBytes(utf8: Self.word)))
            #expect(contents.mac?.algorithm == "PBMAC1 HMAC-\(mac.name) PBKDF2 HMAC-\(prf.name)")
            #expect(contents.mac?.iterations == 3)
            let wrong = PKCS12.inspect(file, password: .text(SecretBytes(utf8: "passwort")))
            #expect(wrong.verdict == .wrongPassword)
        }
    }

    @Test(
        "A file with PBMAC1 opens if the key has 20 to 64 octets, and is malformed otherwise",
        arguments: [nil, 0, 1, 19, 20, 64, 65, 129])
    func pbmac1KeyLength(length: Int?) throws {
        let file = try Self.file(
            mac: PseudoRandomFunction.all[0], prf: PseudoRandomFunction.all[0], keyLength: length)
        let report = PKCS12.inspect(file, password: .text(SecretBytes(utf8: Self.word)))
        #expect(report.verdict == (length.map { 20...64 ~= $0 } == true ? .ok : .malformed))
    }

    /// A file with one certificate in the clear and a PBMAC1 that is computed with OpenSSL's primitives.
    private static func file(
        mac: PseudoRandomFunction, prf: PseudoRandomFunction, keyLength: Int?
    ) throws -> [UInt8] {
        let content = try ASN1.encoded { coder in
            try coder.sequence {
                $0.serializeRawBytes(
                    try PKCS12Samples.safe([PKCS12Samples.bag(certificate: PKCS12Samples.first.certificate)]))
            }
        }
        let key = try LibraryWriter.pbkdf2(
            word, salt: salt, iterations: 3, digest: prf.digest, count: max(keyLength ?? 20, 1))
        let code = try LibraryWriter.hmac(content, key: key, digest: mac.digest)
        let algorithm = try ASN1.encoded { coder in
            try coder.sequence { algorithm in
                try algorithm.objectIdentifier(OID.pbmac1)
                try algorithm.sequence { parameters in
                    try parameters.sequence {
                        try $0.appendPBKDF2(salt, 3, keyLength: keyLength, prf: prf.oid)
                    }
                    try parameters.sequence { try $0.null(after: mac.oid) }
                }
            }
        }
        return try ASN1.encoded { coder in
            try coder.sequence { pfx in
                try pfx.serialize(3)
                try pfx.appendData(content)
                // Readers ignore the salt and the count of the MacData itself (RFC 9579, 5).
                try pfx.appendMACData(
                    AuthenticationCode(algorithm: algorithm, value: code, salt: [], iterations: 1))
            }
        }
    }

    /// Reads a file whose certificate and key are in layers that `encrypt` writes.
    private func expect(
        _ scheme: String, _ encrypt: (SecretBytes) throws -> EncryptedLayer,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let identity = PKCS12Samples.first
        let certificate = try PKCS12Samples.contents([PKCS12Samples.bag(certificate: identity.certificate)])
        let file = try PKCS12Samples.file([
            PKCS12Samples.encryptedSafe(encrypt(SecretBytes(certificate))),
            PKCS12Samples.safe([PKCS12Samples.bag(key: encrypt(identity.key.pkcs8()))]),
        ])
        let contents = try PKCS12.read(file, password: .text(SecretBytes(utf8: Self.word)))
        #expect(contents.encryption == [scheme], sourceLocation: sourceLocation)
        #expect(
            contents.identities.map(\.certificate) == [identity.certificate], sourceLocation: sourceLocation)
    }
}
