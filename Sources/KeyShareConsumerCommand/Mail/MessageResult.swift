import CertificateReading
import CommandSupport
import Diagnostics
import Foundation
import KeySharing
import KeyShareConsumer
import OpenSSL
import PrivateFiles
import SecureMail
import StandardExtensions

/// The outcome for one file: an entry of the document, and the opened message or the reason for the failure.
struct MessageResult {
    /// The entry of the document.
    var message: DecryptionDocument.Message
    /// The opened message; nil if the file did not open.
    let opened: OpenedMessage?
    /// The failure; nil if the file opened or was skipped.
    let failure: CommandFailure?
    /// The serial numbers of the recipients if no recipient's key is available; otherwise empty.
    let missing: [String]

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - file: The file. In folders, files that are not protected messages are skipped.
    ///   - part: The path of the S/MIME part to open; nil for the first one.
    ///   - keys: The identities to try.
    ///   - passwords: The passwords for messages that need one.
    init(
        _ file: MessageFile, part: String?, _ keys: MailIdentities, _ passwords: inout PasswordAttempts
    ) {
        let name = file.name
        let scratch = DestinationOptions.scratchFolder
        do {
            let opened = try file.withContents(scratch: scratch) { descriptor in
                try passwords.open(name) { password in
                    let opener = MessageOpener(scratch: scratch, secret: password, keys: keys.key)
                    return try part.map { try opener.open(part: $0, of: descriptor) }
                        ?? opener.open(descriptor)
                }
            }
            self.opened = opened
            message = DecryptionDocument.Message(name, opened, keys)
            failure = nil
            missing = []
        } catch {
            opened = nil
            let failure = CommandFailure(error)
            let problem = error as? CMSError
            if file.isFound, let problem, [.noMessage, .unprotected, .noSuchPart].contains(problem.code) {
                message = DecryptionDocument.Message(
                    file: name, status: .skipped, error: FailureDocument.Body(failure))
                self.failure = nil
                missing = []
                return
            }
            missing = problem?.recipients.compactMap(\.serialNumber) ?? []
            let isMissing = problem?.code == .missingKey
            let advised =
                isMissing ? Self.missingKey(problem?.recipients ?? [], keys.origin) ?? failure : failure
            message = DecryptionDocument.Message(
                file: name, status: isMissing ? .missingKey : .failed,
                recipients: (problem?.recipients ?? []).map(DecryptionDocument.Recipient.init),
                error: FailureDocument.Body(advised))
            self.failure = advised
        }
    }

    /// Creates the failure for a message that no available key can decrypt. The hint is a command that imports or
    /// registers a key of a recipient.
    private static func missingKey(
        _ recipients: [CMSRecipient], _ origin: MailIdentities.Origin
    ) -> CommandFailure? {
        let named = recipients.filter { $0.serialNumber != nil }
        guard let serial = named.first?.serialNumber else {
            guard let secret = recipients.first(where: \.isOpenedBySecret) else { return nil }
            return CommandFailure(CMSError(.missingKey, "") as any Error)
                .saying("the message needs \(secret.name), which was not provided")
                .advising("pass it with --password-file, --password-env or --password-stdin")
        }
        let names = named.prefix(3).map(\.name).joined(separator: ", ")
        let more = named.count > 3 ? " or \(named.count - 3) others" : ""
        let needs =
            switch (named.count, origin) {
            case (1, .keychain): "needs the encryption key \(names), which was not imported"
            case (_, .keychain): "needs one of the encryption keys \(names)\(more), but none was imported"
            case (1, .token): "needs the encryption key \(names), which no token has"
            case (_, .token): "needs one of the encryption keys \(names)\(more), but no token has one"
            case (1, .keyChain): "needs the encryption key \(names), which no alias has"
            case (_, .keyChain): "needs one of the encryption keys \(names)\(more), but no alias has one"
            }
        return CommandFailure(CMSError(.missingKey, "") as any Error).saying("the message \(needs)")
            .advising(advice([serial], origin))
    }

    /// Returns the command that imports or registers the identities with these serial numbers.
    static func advice(_ serials: [String], _ origin: MailIdentities.Origin) -> String {
        // The prefix of a serial number identifies an item and fits the terminal. For several serial numbers, the
        // archive or the type of encryption keys contains them all.
        switch (serials.count, origin) {
        case (1, .keychain):
            "import it: keyshare-consumer import \(serials[0].prefix(8)) --uti "
                + Mechanism.keySharing2025.plainType
        case (_, .keychain):
            "import them: keyshare-consumer import \(IdentitySelector.encryption.zipName) --uti "
                + IdentitySelector.encryption.zipType(under: .keySharing2025)
        case (1, .token): "register it: keyshare-provider token add \(serials[0].prefix(8))"
        case (_, .token): "register them: keyshare-provider token add --types encryption"
        case (1, .keyChain): "install it: keyshare-provider alias add \(serials[0].prefix(8)) --recovered"
        case (_, .keyChain): "install them: keyshare-provider alias add --types encryption --recovered"
        }
    }
}

extension DecryptionDocument.Recipient {
    /// Creates the entry for a recipient, with the identifier that the message contains.
    init(_ recipient: CMSRecipient) {
        self.init(
            serial: recipient.serialNumber, issuer: recipient.issuer.map { "\($0)" },
            subjectKeyIdentifier: recipient.subjectKeyIdentifier?.upperHex, method: recipient.method.rawValue,
            sharedKeyIdentifier: recipient.sharedKeyIdentifier?.upperHex)
    }
}

extension DecryptionDocument.Message {
    /// Creates the outcome for a message that was opened.
    init(_ file: String, _ opened: OpenedMessage, _ keys: MailIdentities) {
        var (ciphers, recipients, label, signers) = (
            [String](), [CMSRecipient](), String?.none, [CMSSigner]()
        )
        for layer in opened.layers {
            switch layer {
            case .encrypted(let cipher, _, let all, let certificate):
                ciphers.append(cipher.rawValue)
                recipients += all
                label = label ?? certificate?.label
            case .signed(let those): signers += those
            }
        }
        self.init(
            file: file, status: .opened,
            subject: opened.header?["Subject"].map { MailText.decoded(headerValue: $0) }, encryption: ciphers,
            authenticated: !opened.isUnauthenticated,
            recipients: recipients.map(DecryptionDocument.Recipient.init), label: label,
            tokenID: label.flatMap(keys.tokenID),
            signers: signers.map { IdentityDocument(IdentitySummary($0.certificate)) },
            weakSignatures: signers.compactMap { signer in
                signer.weakness.map {
                    DecryptionDocument.WeakSignature(
                        signer: IdentitySummary(signer.certificate).label, reason: $0)
                }
            },
            part: opened.part,
            otherParts: opened.otherParts.map {
                DecryptionDocument.Part(part: $0.path, type: $0.type, isMessage: $0.isMessage)
            },
            partLimit: opened.partLimit,
            body: opened.sha256.upperHex.lowercased())
    }
}
