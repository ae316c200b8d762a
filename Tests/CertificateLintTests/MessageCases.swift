import CertificateLint
import Foundation
import KeySharing
import OpenSSL
import SecretMemory
import TestSupport

/// Messages that break one rule each.
struct MessageCase: Sendable, CustomStringConvertible {
    /// The messages without findings, except for the notice about PKCS #1 v1.5, on which the cases are based.
    struct Base: Sendable {
        let signed: LintedMessage
        let encrypted: LintedMessage

        static let date = Date(timeIntervalSince1970: 1_790_000_000)

        init() throws {
            let scratch = try ScratchFolder()
            let certificate = try Self.certificate(
                usage: [.digitalSignature, .keyAgreement], PrivateKey.generate(.p256), in: scratch)
            _ = try scratch.write(Array("hello".utf8), as: "content")
            try scratch.shell(
                """
                openssl cms -sign -binary -nodetach -in content -outform DER -out signed.der -signer c.pem -inkey k.pem
                openssl cms -encrypt -binary -aes-128-gcm -in content -outform DER -out encrypted.der c.pem
                """)
            var description = try CMSDescription(der: try scratch.read("signed.der"))
            // The certificate is not valid at the current time.
            description.signers[0].signingTime = Self.date
            signed = LintedMessage(description, at: Self.date + 60)
            encrypted = LintedMessage(
                try CMSDescription(der: try scratch.read("encrypted.der")), certificates: [certificate],
                at: Self.date)
        }

        /// Writes the certificate and the key of a person to `c.pem` and `k.pem`.
        static func certificate(
            usage: KeyUsage, _ key: PrivateKey, in scratch: ScratchFolder,
            purposes: [String] = [ExtendedKeyUsage.emailProtection]
        ) throws -> Certificate {
            var template = CertificateTemplate(
                subject: try DistinguishedName([.init("CN", "Dana")]), serialNumber: [7],
                notBefore: date - 86_400, notAfter: date + 86_400)
            template.keyUsage = usage
            template.extendedKeyUsage = purposes
            let issuer = try CertificateIssuer(selfSigned: template, privateKey: key)
            _ = try scratch.write(Array(issuer.certificate.pem.utf8), as: "c.pem")
            _ = try scratch.write(try key.pkcs8().withTransientArray { $0 }, as: "k.der")
            try scratch.shell("openssl pkey -inform DER -in k.der -out k.pem")
            return issuer.certificate
        }
    }

    let code: String
    let isEncrypted: Bool
    let change: @Sendable (inout LintedMessage) throws -> Void

    var description: String { code }

    private init(
        signed code: String, _ change: @escaping @Sendable (inout LintedMessage) throws -> Void
    ) {
        (self.code, isEncrypted, self.change) = (code, false, change)
    }

    private init(
        encrypted code: String, _ change: @escaping @Sendable (inout LintedMessage) throws -> Void
    ) {
        (self.code, isEncrypted, self.change) = (code, true, change)
    }

    /// Describes a message that the openssl command encrypts with these options.
    private static func encrypt(_ options: String) throws -> CMSDescription {
        let scratch = try ScratchFolder()
        _ = try scratch.write(Array("hello".utf8), as: "content")
        try scratch.shell(
            """
            openssl req -x509 -newkey rsa:2048 -nodes -keyout r.pem -out r.crt -subj /CN=Dana
            openssl cms -encrypt -binary -aes-128-gcm -in content -outform DER -out m.der \(options)
            """)
        return try CMSDescription(der: try scratch.read("m.der"))
    }

    /// The certificate of another signer or recipient.
    private static func certificate(_ usage: KeyUsage, _ purposes: [String]) throws -> Certificate {
        try Base.certificate(
            usage: usage, PrivateKey.generate(.p256), in: try ScratchFolder(), purposes: purposes)
    }

    static let all = encrypted + signatures + signers + parts

    private static let encrypted: [MessageCase] = [
        .init(encrypted: "message-cipher-weak") { $0.description.contentEncryption = OID.rc2CBC },
        .init(encrypted: "message-cipher-deprecated") {
            $0.description.contentEncryption = OID.tripleDESCBC
        },
        .init(encrypted: "message-encryption-unauthenticated") { $0.description.kind = .envelopedData },
        .init(encrypted: "message-key-transport-pkcs1") { $0.description = try encrypt("r.crt") },
        .init(encrypted: "message-recipients-missing") { $0.description.recipients = [] },
        .init(encrypted: "message-recipient-key-usage") {
            // The serial number and the issuer are those of the recipient.
            $0.certificates = [try certificate(.digitalSignature, [ExtendedKeyUsage.emailProtection])]
        },
        .init(encrypted: "message-password-iterations") {
            let scratch = try ScratchFolder()
            _ = try scratch.write(Array("hello".utf8), as: "content")
            try scratch.shell(
                "openssl cms -encrypt -binary -aes-128-cbc -in content -outform DER -out m.der -pwri_password x"
            )
            var der = try scratch.read("m.der")
            // 2,048 iterations become 256.
            guard let place = der.firstRange(of: [0x02, 0x02, 0x08, 0x00])?.lowerBound else { return }
            der[place + 2] = 0x01
            $0.description = try CMSDescription(der: der)
        },
    ]

    private static let signatures: [MessageCase] = [
        .init(signed: "message-digest-weak") { $0.description.signers[0].digest = OID.sha1 },
        .init(signed: "message-signature-dsa") { $0.description.signers[0].signatureAlgorithm = OID.dsa },
        .init(signed: "message-signed-attributes-missing") {
            $0.description.signers[0].hasSignedAttributes = false
        },
        .init(signed: "message-signing-time-missing") { $0.description.signers[0].signingTime = nil },
        .init(signed: "message-signing-time-encoding") {
            $0.description.signers[0].hasGeneralizedSigningTime = true
        },
        .init(signed: "message-signing-time-future") { $0.date = Base.date - 1 },
        .init(signed: "message-capabilities-missing") { $0.description.signers[0].capabilities = [] },
    ]

    private static let signers: [MessageCase] = [
        .init(signed: "message-signer-certificate-missing") { $0.description.signers[0].certificate = nil },
        .init(signed: "message-signer-key-usage") {
            $0.description.signers[0].certificate = try certificate(
                .keyAgreement, [ExtendedKeyUsage.emailProtection])
        },
        .init(signed: "message-signer-purpose") {
            $0.description.signers[0].certificate = try certificate(
                .digitalSignature, [ExtendedKeyUsage.clientAuthentication])
        },
        .init(signed: "message-signing-time-outside-validity") {
            $0.description.signers[0].signingTime = Base.date - 2 * 86_400
        },
    ]

    private static let parts: [MessageCase] = [
        .init(signed: "message-content-type") { $0.description.contentType = OID.signedData },
        .init(signed: "message-smime-type") {
            ($0.mediaType, $0.parameters) = ("application/pkcs7-mime", ["smime-type": "enveloped-data"])
        },
        .init(signed: "message-micalg") {
            ($0.mediaType, $0.parameters) = ("multipart/signed", ["micalg": "sha-512"])
        },
    ]
}
