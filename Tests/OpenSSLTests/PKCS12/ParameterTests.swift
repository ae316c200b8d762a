import SecretMemory
@testable import OpenSSL
import SwiftASN1
import TestSupport
import Testing

@Suite("Parameters in PKCS #12 files", .timeLimit(.minutes(10)))
struct ParameterTests {
    private let password = PKCS12Password.text(PKCS12Samples.password)
    private let first = PKCS12Samples.first
    private static let salt: [UInt8] = [8, 7, 6, 5, 4, 3, 2, 1]

    @Test(
        "A derived key may have any length, and one of one byte is the start of a longer one",
        arguments: ["SHA1", "SHA256", "MD5"])
    func shortKeys(digest: String) throws {
        let password = SecretBytes(utf8: "password")
        let wide = SecretBytes("password".utf8.flatMap { [0, $0] } + [0, 0])
        func pbkdf1(_ count: Int, _ name: String) throws -> SecretBytes {
            try KeyDerivation.pbkdf1(
                password: password, salt: Self.salt, iterations: 3, digest: name, count: count,
                context: .legacy)
        }
        func scrypt(_ count: Int) throws -> SecretBytes {
            try KeyDerivation.scrypt(
                password: password, salt: Self.salt, cost: 4, blockSize: 1, parallelization: 1, count: count,
                memoryLimit: 1 << 20)
        }
        for count in [0, 1, 2, 16] {
            let pbkdf2 = try KeyDerivation.pbkdf2(
                password: password, salt: Self.salt, iterations: 3, digest: digest, count: count,
                context: .legacy)
            #expect(
                try pbkdf2
                    == SecretBytes(
                        LibraryWriter.pbkdf2(
                            "password", salt: Self.salt, iterations: 3, digest: digest, count: 16)
                    ).part(0..<count))
            let pkcs12 = try KeyDerivation.pkcs12(
                .encryptionKey, password: wide, salt: Self.salt, iterations: 3, digest: digest, count: count,
                context: .legacy)
            #expect(
                try pkcs12
                    == SecretBytes(
                        LibraryWriter.pkcs12(
                            "password", salt: Self.salt, purpose: 1, iterations: 3, digest: digest, count: 16)
                    ).part(0..<count))
            #expect(try pbkdf1(count, "MD5") == pbkdf1(16, "MD5").part(0..<count))
            #expect(try scrypt(count) == scrypt(16).part(0..<count))
        }
    }

    @Test("A derivation that OpenSSL rejects throws an error and returns no key")
    func failedDerivations() {
        let password = SecretBytes(utf8: "password")
        #expect(throws: OpenSSLError.self) {
            try KeyDerivation.pbkdf1(
                password: password, salt: Self.salt, iterations: 1, digest: "MD5", count: 17, context: .legacy
            )
        }
        #expect(throws: OpenSSLError.self) {
            try KeyDerivation.pbkdf2(
                password: password, salt: Self.salt, iterations: 1, digest: "none", count: 16,
                context: .legacy)
        }
        #expect(throws: OpenSSLError.self) {
            try KeyDerivation.scrypt(
                password: password, salt: Self.salt, cost: 1 << 10, blockSize: 8, parallelization: 1,
                count: 16, memoryLimit: 1 << 19)
        }
    }

    @Test("A cipher is malformed if its vector, version or key does not have a valid length")
    func cipherParameters() throws {
        func vector(_ count: Int) -> [UInt8] { [UInt8](repeating: 9, count: count) }
        let gcm = "2.16.840.1.101.3.4.1.46"
        let cases: [(verdict: PKCS12Report.Verdict, oid: String, vector: Int, number: Int?, key: Int?)] = [
            (.wrongPassword, OID.aes256CBC, 16, nil, nil), (.malformed, OID.aes256CBC, 15, nil, nil),
            (.malformed, OID.aes256CBC, 17, nil, nil), (.malformed, OID.aes256CBC, 0, nil, nil),
            (.wrongPassword, gcm, 1, 16, nil), (.wrongPassword, gcm, 16, 16, nil),
            (.malformed, gcm, 0, 16, nil),
            (.malformed, gcm, 17, 16, nil),
            (.wrongPassword, OID.rc2CBC, 8, 256, 16), (.wrongPassword, OID.rc2CBC, 8, 1024, 16),
            (.malformed, OID.rc2CBC, 8, 1025, 16), (.malformed, OID.rc2CBC, 8, 255, 16),
            (.malformed, OID.rc2CBC, 8, 0, 16),
            (.wrongPassword, OID.rc2CBC, 8, 58, 32), (.malformed, OID.rc2CBC, 8, 58, 33),
            (.malformed, OID.aes256CBC, 16, nil, 31),
            // The key wrapping of RFC 3394, CCM and XTS are no modes of PBES2.
            (.unsupported, "2.16.840.1.101.3.4.1.45", 8, nil, nil),
            (.unsupported, "2.16.840.1.101.3.4.1.47", 12, 16, nil),
            (.unsupported, "1.3.111.2.1619.0.1.2", 16, nil, nil),
        ]
        for (verdict, oid, count, number, key) in cases {
            let layer = try PKCS12Samples.layer { coder in
                try coder.appendPBES2(
                    { try $0.appendPBKDF2(Self.salt, 1, keyLength: key, prf: nil) },
                    { cipher in
                        try cipher.objectIdentifier(oid)
                        guard let number else { return try cipher.octets(vector(count)) }
                        try cipher.sequence { fields in
                            if oid == OID.rc2CBC { try fields.serialize(number) }
                            try fields.octets(vector(count))
                            if oid != OID.rc2CBC { try fields.serialize(number) }
                        }
                    })
            }
            let file = try PKCS12Samples.file([PKCS12Samples.encryptedSafe(layer)], mac: .none)
            #expect(
                PKCS12.inspect(file, password: password).verdict == verdict,
                "\(oid) \(count) \(number ?? -1) \(key ?? -1)")
        }
    }

    @Test("The limits of iterations and of scrypt are inclusive")
    func inclusiveLimits() throws {
        var limits = PKCS12Limits.standard
        func refusal(_ derivation: (inout DER.Serializer) throws -> Void) throws -> PKCS12Error.Code? {
            let layer = try PKCS12Samples.layer { coder in
                try coder.appendPBES2(
                    derivation,
                    { cipher in
                        try cipher.objectIdentifier(OID.aes256CBC)
                        try cipher.octets([UInt8](repeating: 9, count: 16))
                    })
            }
            let file = try PKCS12Samples.file([PKCS12Samples.encryptedSafe(layer)], mac: .none)
            return PKCS12.inspect(file, password: password, limits: limits).error?.code
        }
        func scrypt(_ cost: Int, _ blockSize: Int, _ parallelization: Int) throws -> PKCS12Error.Code? {
            try refusal { derivation in
                try derivation.objectIdentifier(OID.scrypt)
                try derivation.sequence { values in
                    try values.octets(Self.salt)
                    for number in [cost, blockSize, parallelization] { try values.serialize(number) }
                }
            }
        }
        limits.iterations = 192
        for (count, expected) in [(1, PKCS12Error.Code.wrongPassword), (192, .wrongPassword)]
            + [-128, 0, 193].map({ ($0, .refused(limit: .iterations)) })
        {
            #expect(
                try refusal { try $0.appendPBKDF2(Self.salt, count, keyLength: nil, prf: nil) } == expected,
                "\(count)")
        }
        // The work of scrypt is twice the product of its parameters.
        #expect(try scrypt(16, 2, 3) == .wrongPassword)
        #expect(try scrypt(16, 1, 7) == .refused(limit: .scrypt))
        for (cost, blockSize, parallelization) in [
            (0, 1, 1), (1, 1, 1), (3, 1, 1), (2, 0, 1), (2, 1, 0), (1 << 40, 1 << 40, 1),
        ] {
            #expect(try scrypt(cost, blockSize, parallelization) == .refused(limit: .scrypt))
        }
        limits.scryptMemory = 128 * 2 * (16 + 3 + 2)
        #expect(try scrypt(16, 2, 3) == .wrongPassword)
        limits.scryptMemory -= 1
        #expect(try scrypt(16, 2, 3) == .refused(limit: .scrypt))
    }

    @Test("A number is an INTEGER, and one of more than seven significant bytes is not represented")
    func numbers() throws {
        for (content, number) in [
            ([3], 3), ([0xFF], -1), ([0, 0x80], 0x80),
            ([UInt8](repeating: 0x7F, count: 7), 0x7F_7F7F_7F7F_7F7F),
            ([UInt8](repeating: 0x7F, count: 8), nil), ([1] + [UInt8](repeating: 0, count: 8), nil),
        ] as [([UInt8], Int?)] {
            let node = try DER.parse([0x02, UInt8(content.count)] + content)
            #expect(try node.integer(at: "here") == number)
        }
        for tag in [0x01, 0x04, 0x0A] as [UInt8] {
            let node = try DER.parse([tag, 1, 3])
            #expect(throws: PKCS12Error.self) { try node.integer(at: "here") }
        }
    }

    /// Returns copies of a node, each with a NULL at the end of a different SEQUENCE or explicit tag in the node,
    /// including those in an OCTET STRING.
    private static func extended(_ node: ASN1Node) -> [[UInt8]] {
        let tag = node.encodedBytes.first ?? 0
        func encoded(_ content: [UInt8]) -> [UInt8] {
            let count = content.count
            let length: [UInt8] =
                count < 0x80 ? [UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
            return [tag] + length + content
        }
        switch node.content {
        case .primitive(let bytes):
            guard tag == 0x04, bytes.first == 0x30, let inner = try? DER.parse(bytes) else { return [] }
            return extended(inner).map(encoded)
        case .constructed(let children):
            let parts = children.map { Array($0.encodedBytes) }
            var copies: [[UInt8]] = tag == 0x31 ? [] : [encoded(parts.flatMap(\.self) + [5, 0])]
            for (index, child) in children.enumerated() {
                copies += extended(child).map { copy in
                    encoded(parts[..<index].flatMap(\.self) + copy + parts[(index + 1)...].flatMap(\.self))
                }
            }
            return copies
        }
    }

    @Test(
        "A file with an extra element in any structure is malformed",
        arguments: [PKCS12Profile.Name.modern, .pbmac1])
    func extraElements(name: PKCS12Profile.Name) throws {
        let derivations: [(inout DER.Serializer) throws -> Void] = [
            { try $0.appendPBKDF2(Self.salt, 1, keyLength: 32, prf: OID.hmacSHA256) },
            { derivation in
                try derivation.objectIdentifier(OID.scrypt)
                try derivation.sequence { values in
                    try values.octets(Self.salt)
                    for number in [4, 1, 1, 32] { try values.serialize(number) }
                }
            },
        ]
        var layers = try derivations.map { derivation in
            try PKCS12Samples.layer { coder in
                try coder.appendPBES2(derivation) { cipher in
                    try cipher.objectIdentifier(OID.aes256CBC)
                    try cipher.octets([UInt8](repeating: 9, count: 16))
                }
            }
        }
        layers.append(
            try PKCS12Samples.layer { try $0.appendPBES1(OID.pbeWithSHA1AndTripleDES, Self.salt, 1) })
        let certificate = try ASN1.encoded { coder in
            try coder.sequence { value in
                try value.objectIdentifier(OID.x509Certificate)
                try value.explicit(0) { try $0.octets([1, 2, 3]) }
            }
        }
        let bags = try layers.map { try PKCS12Samples.bag(key: $0) }
        let message = try PKCS12FileBuilder.authenticatedSafe([
            PKCS12Samples.safe(bags + [PKCS12Samples.bag(OID.certBag, value: certificate)])
        ])
        let code = try #require(
            try PKCS12FileBuilder(PKCS12Profile(name).iterations(2)).authenticate(
                message, password: PKCS12Samples.password))
        // An iteration count of 1 would be omitted from the MacData. PBMAC1 ignores this count.
        let file = try PKCS12FileBuilder.file(
            message,
            mac: AuthenticationCode(
                algorithm: code.algorithm, value: code.value, salt: code.salt, iterations: 2))
        #expect(PKCS12.inspect(file, password: password).verdict == .ok)
        let copies = Self.extended(try DER.parse(file))
        #expect(copies.count > 30)
        for copy in copies {
            let report = PKCS12.inspect(copy, password: password)
            #expect(report.verdict == .malformed, "\(report.message)")
        }
    }
}
