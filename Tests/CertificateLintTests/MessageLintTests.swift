import CertificateLint
import Foundation
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
