package import Foundation
package import KeyShareProvider
internal import KeySharing
package import OpenSSL
internal import SecureMail
internal import StandardExtensions

/// Writes ``TestMail``s with the keys of a provider.
package struct TestMailWriter {
    private let store: ProviderStore
    private let now: Date
    private let scratch: String
    private let protectsHeaders: Bool
    private var random: RandomSource.Generator

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - store: The provider's store. The certificates for encryption are available even if the device is locked.
    ///   - now: The date of the messages.
    ///   - random: The source of identifiers and boundaries.
    ///   - scratch: The folder for unnamed temporary files.
    ///   - protectsHeaders: Whether the messages protect their header fields (RFC 9788). Encrypted messages then hide
    ///     the subject.
    package init(
        _ store: ProviderStore, at now: Date, random: RandomSource, scratch: String,
        protectsHeaders: Bool = false
    ) {
        self.store = store
        self.now = now
        self.random = random.generator()
        self.scratch = scratch
        self.protectsHeaders = protectsHeaders
    }

    /// Writes a message.
    ///
    /// - Returns: The message, and the SHA-256 of its innermost MIME entity, which every reader extracts.
    /// - Throws: `KeychainError`, `CertificateError`, `CMSError`, `FileError`.
    package mutating func write(_ mail: TestMail) throws -> (mail: [UInt8], bodySHA256: [UInt8]) {
        var (header, body) = (header(of: mail), MailWriter.textEntity(Self.text(of: mail)))
        if protectsHeaders {
            (header, body) = MailWriter.textEntity(
                Self.text(of: mail), protecting: header, isEncrypted: mail.cipher != nil)
        }
        var entity = body
        if let signer = mail.signer {
            let identity = try store.identity(signer.label)
            let chain = try store.chain(of: identity.certificate).filter { !$0.isSelfIssued }
            entity = try MailWriter.signed(
                mail.cipher == nil ? header : MailHeader([]), body,
                as: (identity.certificate, identity.privateKey), chain: chain,
                boundary: "keyshare-\(random.octets(12).upperHex)", signingTime: now, scratch: scratch)
        }
        if let cipher = mail.cipher {
            entity = try MailWriter.encrypted(
                header, entity, for: try mail.recipients.map { try store.certificate($0.label) },
                cipher: cipher, transport: mail.transport)
        }
        return (entity, Digest.sha256(body))
    }

    private mutating func header(of mail: TestMail) -> MailHeader {
        let recipients = (mail.recipients.isEmpty ? [mail.signer].compactMap(\.self) : mail.recipients)
        var addresses: [String] = []
        for address in recipients.map(Self.address(of:)) where !addresses.contains(address) {
            addresses.append(address)
        }
        return MailHeader([
            .init("From", mail.signer.map(Self.address(of:)) ?? "Test Sender <sender@mail.example>"),
            .init("To", addresses.joined(separator: ",\r\n ")),
            .init("Subject", MailText.headerValue("Pr\u{FC}fung: \(mail.purpose)")),
            .init("Date", MailText.date(now)),
            .init("Message-ID", "<\(random.octets(16).upperHex)@mail.example>"),
        ])
    }

    private static func address(of identity: IdentitySummary) -> String {
        MailText.address(identity.details?.email, name: identity.details?.commonName)
    }

    /// Returns the text of a message, with details that a defective mail reader may alter: letters beyond ASCII, a long
    /// line, `From ` at the start of a line, a dot on its own line, and a trailing space.
    private static func text(of mail: TestMail) -> String {
        """
        Gr\u{FC}\u{DF}e aus dem Testlabor \u{2014} this message is \(mail.purpose).

        If you can read this line, you have the key. It is longer than the 76 characters that a line of quoted-printable has, \
        \u{20AC} 1 = 100 %, \u{6F22}\u{5B57}.
        From here on nothing secret follows. This line ends with a blank: \u{20}
        .
        \(mail.recipients.isEmpty ? "" : "Recipients: " + mail.recipients.map(\.label).joined(separator: " "))

        """
    }
}
