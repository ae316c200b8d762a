import CertificateLint
import Foundation
import KeySharing
import OpenSSL
import SecretMemory
import TestSupport
import Testing

@Suite("Findings about messages and encrypted keys", .timeLimit(.minutes(10)))
struct MessageLintTests {
    private static func codes(_ message: LintedMessage) -> [String] {
        CertificateLinter.findings(in: message).map(\.code)
    }

    @Test("Messages that follow the rules have no findings")
    func sound() throws {
        let base = try MessageCase.Base()
        #expect(Self.codes(base.signed) == [])
        #expect(Self.codes(base.encrypted) == [])
        var mail = base.signed
        (mail.mediaType, mail.parameters) = ("multipart/signed", ["micalg": "sha-256"])
        #expect(Self.codes(mail) == [])
        (mail.mediaType, mail.parameters) = ("application/x-pkcs7-mime", ["smime-type": "signed-data"])
        #expect(Self.codes(mail) == [])
        // The parameter has no meaning for other media types.
        (mail.mediaType, mail.parameters) = (
            "multipart/signed", ["micalg": "sha-256", "smime-type": "enveloped-data"]
        )
        #expect(Self.codes(mail) == [])
    }

    @Test("A message that breaks a rule has the finding of that rule")
    func messages() throws {
        let base = try MessageCase.Base()
        for each in MessageCase.all {
            var message = each.isEncrypted ? base.encrypted : base.signed
            try each.change(&message)
            let found = CertificateLinter.findings(in: message).filter { $0.code == each.code }
            #expect(!found.isEmpty, "\(each.code)")
            #expect(found.allSatisfy { !$0.message.isEmpty && !$0.message.hasSuffix(".") })
        }
    }

    /// Changes of a message, and whether the changed message has a finding.
    private static let exceptions: [(String, Bool, @Sendable (inout LintedMessage) -> Void)] = [
        ("message-cipher-weak", true, { $0.description.contentEncryption = "1.3.14.3.2.7" }),
        ("message-cipher-weak", true, { $0.description.contentEncryption = "1.2.840.113549.3.4" }),
        ("message-digest-weak", true, { $0.description.signers[0].digest = "1.2.840.113549.2.5" }),
        (
            "message-digest-weak", true,
            { $0.description.signers[0].signatureAlgorithm = "1.2.840.113549.1.1.5" }
        ),
        (
            "message-signature-dsa", true,
            { $0.description.signers[0].signatureAlgorithm = "1.2.840.10040.4.3" }
        ),
        (
            "message-signing-time-missing", false,
            {
                $0.description.signers[0].hasSignedAttributes = false
                $0.description.signers[0].signingTime = nil
            }
        ),
        (
            "message-capabilities-missing", false,
            {
                $0.description.signers[0].hasSignedAttributes = false
                $0.description.signers[0].capabilities = []
            }
        ),
        (
            "message-signing-time-encoding", false,
            {
                $0.description.signers[0].signingTime = Date(timeIntervalSince1970: 2_524_608_000)
                $0.description.signers[0].hasGeneralizedSigningTime = true
            }
        ),
        (
            "message-signing-time-encoding", true,
            { $0.description.signers[0].signingTime = Date(timeIntervalSince1970: 2_524_608_000) }
        ),
        ("message-signing-time-future", false, { $0.date = MessageCase.Base.date }),
        ("message-content-type", false, { $0.description.contentType = "" }),
        (
            "message-smime-type", false,
            { ($0.mediaType, $0.parameters) = ("application/pkcs7-mime", ["smime-type": "SIGNED-DATA"]) }
        ),
        (
            "message-smime-type", false,
            {
                $0.description.signers = []
                ($0.mediaType, $0.parameters) = ("application/pkcs7-mime", ["smime-type": "certs-only"])
            }
        ),
        (
            "message-micalg", false,
            { ($0.mediaType, $0.parameters) = ("multipart/signed", ["micalg": "sha-512,sha-256"]) }
        ),
        (
            "message-micalg", false,
            { ($0.mediaType, $0.parameters) = ("application/pkcs7-mime", ["micalg": "sha-512"]) }
        ),
    ]

    @Test("A rule applies to a message exactly within its limits and outside its exceptions")
    func limits() throws {
        let base = try MessageCase.Base()
        for (code, isFound, change) in Self.exceptions {
            var message = code.contains("cipher") ? base.encrypted : base.signed
            change(&message)
            #expect(Self.codes(message).contains(code) == isFound, "\(code)")
        }
        for (usage, purpose) in [
            (KeyUsage.nonRepudiation, ExtendedKeyUsage.emailProtection), (.digitalSignature, "2.5.29.37.0"),
        ] {
            var message = base.signed
            message.description.signers[0].certificate = try MessageCase.Base.certificate(
                usage: usage, PrivateKey.generate(.p256), in: try ScratchFolder(), purposes: [purpose])
            #expect(Self.codes(message) == [])
        }
    }

    @Test("Only the certificate of a recipient is compared with the message")
    func recipients() throws {
        let base = try MessageCase.Base()
        var message = base.encrypted
        message.certificates.insert(try Certificate(der: RawCertificate.person.der), at: 0)
        #expect(Self.codes(message) == [])
    }

    @Test("The password of a message needs at least 1,000 iterations")
    func passwordIterations() throws {
        let base = try MessageCase.Base()
        let scratch = try ScratchFolder()
        _ = try scratch.write(Array("hello".utf8), as: "content")
        try scratch.shell(
            "openssl cms -encrypt -binary -aes-128-cbc -in content -outform DER -out m.der -pwri_password x")
        let der = try scratch.read("m.der")
        let place = try #require(der.firstRange(of: [0x02, 0x02, 0x08, 0x00])?.lowerBound)
        for (iterations, isFound) in [(1_000, false), (999, true)] {
            var changed = der
            changed[place + 2] = UInt8(iterations >> 8)
            changed[place + 3] = UInt8(iterations & 0xFF)
            var message = base.encrypted
            message.description = try CMSDescription(der: changed)
            #expect(Self.codes(message).contains("message-password-iterations") == isFound, "\(iterations)")
        }
    }

    /// The encrypted key of PBES2 with PBKDF2 and HMAC-SHA-256.
    private static func key(
        salt: Int = 16, iterations: [UInt8] = [0x08, 0x00],
        cipher: [UInt8] = Raw.algorithm(
            "2.16.840.1.101.3.4.1.42", Raw.octets([UInt8](repeating: 1, count: 16)))
    ) -> [UInt8] {
        let derivation = Raw.sequence(
            Raw.octets([UInt8](repeating: 1, count: salt)), Raw.integer(iterations),
            Raw.algorithm("1.2.840.113549.2.9", Raw.null))
        let parameters = Raw.sequence(Raw.algorithm("1.2.840.113549.1.5.12", derivation), cipher)
        return Raw.sequence(
            Raw.algorithm("1.2.840.113549.1.5.13", parameters), Raw.octets([UInt8](repeating: 2, count: 48)))
    }

    /// The encrypted key of a scheme of PKCS #12, or of PKCS #5 version 1.5.
    private static func key(scheme: String) -> [UInt8] {
        let parameters = Raw.sequence(Raw.octets([UInt8](repeating: 1, count: 8)), Raw.integer([0x08, 0x00]))
        return Raw.sequence(
            Raw.algorithm(scheme, parameters), Raw.octets([UInt8](repeating: 2, count: 48)))
    }

    @Test(
        "A rule applies to an encrypted key exactly within its limits, for every weak and deprecated cipher")
    func keyLimits() throws {
        let vector = Raw.octets([UInt8](repeating: 1, count: 8))
        let scrypt = Raw.sequence(
            Raw.octets([UInt8](repeating: 1, count: 16)), Raw.integer([4]), Raw.integer([1]), Raw.integer([1])
        )
        let scryptKey = Raw.sequence(
            Raw.algorithm(
                "1.2.840.113549.1.5.13",
                Raw.sequence(
                    Raw.algorithm("1.3.6.1.4.1.11591.4.11", scrypt),
                    Raw.algorithm(
                        "2.16.840.1.101.3.4.1.42", Raw.octets([UInt8](repeating: 1, count: 16))))),
            Raw.octets([UInt8](repeating: 2, count: 48)))
        let cases: [([UInt8], [String])] = [
            (Self.key(), []), (Self.key(salt: 8), []), (Self.key(salt: 7), ["key-encryption-salt"]),
            (Self.key(iterations: [0x03, 0xE8]), []),
            (Self.key(iterations: [0x03, 0xE7]), ["key-encryption-iterations"]),
            (Self.key(iterations: [0x1E, 0x84, 0x80]), []),
            (Self.key(iterations: [0x1E, 0x84, 0x81]), ["key-encryption-work"]),
            (
                Self.key(cipher: Raw.algorithm("1.3.6.1.4.1.3029.1.2", vector)),
                ["key-encryption-cipher-deprecated"]
            ),
            (
                Self.key(scheme: "1.2.840.113549.1.12.1.1"),
                ["key-encryption-scheme", "key-encryption-cipher-weak", "key-encryption-digest-sha1"]
            ),
            (
                Self.key(scheme: "1.2.840.113549.1.12.1.5"),
                ["key-encryption-scheme", "key-encryption-cipher-weak", "key-encryption-digest-sha1"]
            ),
            (
                Self.key(scheme: "1.2.840.113549.1.5.3"),
                ["key-encryption-scheme", "key-encryption-cipher-weak", "key-encryption-digest-weak"]
            ),
            (scryptKey, []),
        ]
        for (index, (der, codes)) in cases.enumerated() {
            let found = CertificateLinter.findings(in: try encryption(der))
            #expect(found.map(\.code) == codes, "case \(index)")
        }
    }

    /// Options of `openssl pkcs8 -topk8`, and the codes of the findings about the key.
    private static let keys: [(options: String, codes: [String])] = [
        ("-v2 aes-256-cbc -v2prf hmacWithSHA256", []),
        ("-v2 aes-256-cbc -v2prf hmacWithSHA1", ["key-encryption-digest-sha1"]),
        ("-v2 aes-128-cbc -iter 999", ["key-encryption-iterations"]), ("-v2 aes-128-cbc -iter 1000", []),
        ("-v2 aes-128-cbc -iter 2000001", ["key-encryption-work"]),
        ("-v2 des3", ["key-encryption-cipher-deprecated"]), ("-scrypt -scrypt_N 1024", []),
        (
            "-v1 PBE-SHA1-3DES",
            ["key-encryption-scheme", "key-encryption-cipher-deprecated", "key-encryption-digest-sha1"]
        ),
        (
            "-v1 PBE-MD5-DES -provider legacy -provider default",
            ["key-encryption-scheme", "key-encryption-cipher-weak", "key-encryption-digest-weak"]
        ),
    ]

    private func encryption(_ der: [UInt8]) throws -> LintedKeyEncryption {
        guard case .encrypted(let scheme, let layer)? = try PrivateKeyFile(der: .init(der)) else {
            throw CertificateError(.malformedKey, "the key is not encrypted")
        }
        return LintedKeyEncryption(scheme: scheme, layer: layer)
    }

    @Test("Encrypted keys have findings about weak ciphers, digests and iterations, without the password")
    func encryptedKeys() throws {
        let scratch = try ScratchFolder()
        try scratch.shell("openssl genpkey -algorithm ec -pkeyopt ec_paramgen_curve:P-256 -out plain.pem")
        for (options, codes) in Self.keys {
            try scratch.shell(
                "openssl pkcs8 -topk8 -in plain.pem -passout pass:x -outform DER -out key.der \(options)")
            let found = CertificateLinter.findings(in: try encryption(try scratch.read("key.der")))
            #expect(found.map(\.code) == codes, "\(options)")
        }
    }

    @Test("Traditional PEM encryption, unknown schemes and short salts have findings")
    func otherEncryption() throws {
        func codes(_ encryption: LintedKeyEncryption) -> [String] {
            CertificateLinter.findings(in: encryption).map(\.code)
        }
        #expect(codes(.init(scheme: nil, layer: nil)) == ["key-encryption-traditional"])
        #expect(codes(.init(scheme: "1.2.3", layer: nil)) == ["key-encryption-unknown"])
        let salt = Raw.sequence(
            Raw.octets([1, 2, 3, 4]), Raw.integer([0x08, 0x00]),
            Raw.algorithm("1.2.840.113549.2.9", Raw.null))
        let parameters = Raw.sequence(
            Raw.algorithm("1.2.840.113549.1.5.12", salt),
            Raw.algorithm("2.16.840.1.101.3.4.1.42", Raw.octets([UInt8](repeating: 1, count: 16))))
        let der = Raw.sequence(
            Raw.algorithm("1.2.840.113549.1.5.13", parameters), Raw.octets([UInt8](repeating: 2, count: 48)))
        #expect(codes(try encryption(der)) == ["key-encryption-salt"])
    }

    /// The codes that the tests of this suite expect.
    static var tested: [String] {
        MessageCase.all.map(\.code) + keys.flatMap(\.codes)
            + ["key-encryption-traditional", "key-encryption-unknown", "key-encryption-salt"]
    }
}
