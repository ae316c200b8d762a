import Foundation
import OpenSSL
import PrivateFiles
import SecretMemory
import SecureMail
import TestSupport
import Testing

/// The error of a key that the app may not use.
private struct MissingGrant: ExternalKeyError {
    let concernsOnlyThisKey = true
}

/// An external key that the app may not use.
private struct UngrantedKey: ExternalPrivateKey {
    let publicKey: PublicKey

    func result(of use: PrivateKeyUse) throws -> SecretBytes? { throw MissingGrant() }
}

/// Messages for several recipients whose keys are available. DER orders recipients with RSA keys before those with
/// elliptic-curve keys.
@Suite("Messages for several available keys", .timeLimit(.minutes(10)))
struct HeldRecipientTests: MailSuite {
    let scratch: ScratchFolder

    private static let rsaEncryption: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]

    init() throws { scratch = try ScratchFolder() }

    private static func rsaKey() throws -> PrivateKey { try PrivateKey.generate(.rsa(bits: 2048)) }

    /// Creates certificates of a key with serial numbers from 0x40.
    private func certificates(of key: PrivateKey, _ count: Int = 1) throws -> [Certificate] {
        try (0..<count).map { index in
            let template = CertificateTemplate(
                subject: try DistinguishedName([.init("CN", "EXAMPLE.DANA.1234567890")]),
                serialNumber: [0x40 + UInt8(index)], notBefore: Date(timeIntervalSince1970: 1_700_000_000),
                notAfter: Date(timeIntervalSince1970: 1_900_000_000))
            return try CertificateIssuer(selfSigned: template, privateKey: key).certificate
        }
    }

    /// Opens a message with ``identity`` and with another key for other certificates.
    private func open(
        _ message: [UInt8], with key: PrivateKey, of certificates: [Certificate], hasIdentity: Bool = true,
        secret: String? = nil
    ) throws -> OpenedMessage {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(message)
        let opener = MessageOpener(
            scratch: scratch.path, secret: secret.map { SecretBytes(utf8: $0) },
            keys: { recipient in
                if hasIdentity, recipient.isHolder(of: identity.certificate) { return identity }
                return certificates.first { recipient.isHolder(of: $0) }.map { ($0, key) }
            })
        return try opener.open(file.descriptor)
    }

    @Test("If the key of one recipient does not open a message, the key of the next recipient is used")
    func nextRecipient() throws {
        let (key, other) = (try Self.rsaKey(), try Self.rsaKey())
        let certificates = try certificates(of: key)
        let message = try CMSEnvelope.encrypt(
            body, for: certificates + [identity.certificate], cipher: .aes256GCM)
        #expect(try content(open(message, with: key, of: certificates, hasIdentity: false)) == body)
        let opened = try open(message, with: other, of: certificates)
        #expect(try content(opened) == body)
        guard case .encrypted(_, _, let recipients, let openedBy)? = opened.layers.first else {
            Issue.record("the message is not encrypted")
            return
        }
        #expect(recipients.map(\.method) == [.rsaPKCS1, .ecdh] && openedBy == identity.certificate)
        #expect(throws: CMSError(.altered, "")) {
            try open(message, with: other, of: certificates, hasIdentity: false)
        }
    }

    @Test("A recipient whose method is not supported is skipped, and named if the message has no other")
    func unsupportedMethod() throws {
        let key = try Self.rsaKey()
        let certificates = try certificates(of: key)
        var message = try CMSEnvelope.encrypt(
            body, for: certificates + [identity.certificate], cipher: .aes256CBC)
        // rsaEncryption (1.2.840.113549.1.1.1) becomes an algorithm that does not encrypt keys.
        message[try #require(message.firstRange(of: Self.rsaEncryption)).upperBound - 1] = 0x0B
        #expect(try content(open(message, with: key, of: certificates)) == body)
        let error = #expect(throws: CMSError(.unsupported(oid: ""), "")) {
            try open(message, with: key, of: certificates, hasIdentity: false)
        }
        #expect(error?.reason.contains("sha256WithRSAEncryption") == true)
    }

    @Test("At most eight recipients with available keys are tried")
    func limit() throws {
        let (key, other) = (try Self.rsaKey(), try Self.rsaKey())
        for count in [CMSLimits.heldRecipients - 1, CMSLimits.heldRecipients] {
            let certificates = try certificates(of: key, count)
            let message = try CMSEnvelope.encrypt(
                body, for: certificates + [identity.certificate], cipher: .aes256GCM)
            if count < CMSLimits.heldRecipients {
                #expect(try content(open(message, with: other, of: certificates)) == body)
            } else {
                #expect(throws: CMSError(.altered, "")) { try open(message, with: other, of: certificates) }
            }
        }
    }

    @Test("Up to 64 recipients whose keys the app may not use do not count towards the eight available keys")
    func ungranted() throws {
        let key = try Self.rsaKey()
        let ungranted = try PrivateKey(UngrantedKey(publicKey: key.publicKey))
        let most = CMSLimits.ungrantedRecipients
        for count in [CMSLimits.heldRecipients, most - 1, most] {
            let certificates = try certificates(of: key, count)
            let message = try CMSEnvelope.encrypt(
                body, for: certificates + [identity.certificate], cipher: .aes256GCM)
            if count < most {
                #expect(try content(open(message, with: ungranted, of: certificates)) == body)
            } else {
                #expect(throws: MissingGrant.self) {
                    try open(message, with: ungranted, of: certificates)
                }
            }
        }
    }

    @Test("If no available key opens a message, the password is tried")
    func password() throws {
        let other = try PrivateKey.generate(.p256)
        let certificates = [identity.certificate]
        _ = try scratch.write(body, as: "content")
        _ = try scratch.write(Array(identity.certificate.pem.utf8), as: "certificate.pem")
        try scratch.shell(
            """
            openssl cms -encrypt -binary -aes-256-cbc -in content -outform DER -out message.der \
              -pwri_password secret certificate.pem
            """)
        let message = try scratch.read("message.der")
        let opened = try open(message, with: other, of: certificates, hasIdentity: false, secret: "secret")
        #expect(try content(opened) == body)
        #expect(throws: CMSError(.altered, "")) {
            try open(message, with: other, of: certificates, hasIdentity: false, secret: "other")
        }
    }
}
