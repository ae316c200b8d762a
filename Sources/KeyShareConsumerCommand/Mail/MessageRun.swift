import CertificateReading
import CommandSupport
import Diagnostics
import Foundation
import KeySharing
import KeyShareConsumer
import OpenSSL
import PrivateFiles
import SecureMail

/// What came of opening one file: a row of the document, what was inside, and why it did not open.
struct MessageRun {
    /// The row.
    var message: DecryptionDocument.Message
    /// What was inside; nil where it did not open.
    let opened: OpenedMessage?
    /// Why it did not open; nil where it did, or is to be passed over.
    let failure: CommandFailure?
    /// The serial numbers of the keys that it needs; empty where it opened, or failed otherwise.
    let missing: [String]

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: the file, or `-`.
    ///   - name: what the row calls it.
    ///   - isFound: whether the file was found in a folder, where other files are passed over.
    ///   - keys: the keys.
    init(_ path: String, as name: String, isFound: Bool, _ keys: MailKeys) {
        let scratch = DestinationOptions.scratchFolder
        do {
            let opened = try InputFile.withFile(path, scratch: scratch) { file in
                try MessageOpener(scratch: scratch, keys: keys.key).open(file)
            }
            self.opened = opened
            message = DecryptionDocument.Message(name, opened, keys)
            failure = nil
            missing = []
        } catch {
            opened = nil
            let failure = CommandFailure(error)
            let problem = error as? CMSError
            if isFound, let problem, [.noMessage, .unprotected].contains(problem.code) {
                message = DecryptionDocument.Message(
                    file: name, status: .skipped, error: FailureDocument.Body(failure))
                self.failure = nil
                missing = []
                return
            }
            missing = problem?.recipients.compactMap(\.serialNumber) ?? []
            let isMissing = problem?.code == .missingKey
            let advised = isMissing ? Self.missingKey(of: missing, keys.origin) ?? failure : failure
            message = DecryptionDocument.Message(
                file: name, status: isMissing ? .missingKey : .failed,
                recipients: (problem?.recipients ?? []).map(DecryptionDocument.Recipient.init),
                error: FailureDocument.Body(advised))
            self.failure = advised
        }
    }

    /// The failure of a message that needs one of these keys, with the command that would get them.
    private static func missingKey(of serials: [String], _ origin: MailKeys.Origin) -> CommandFailure? {
        guard !serials.isEmpty else { return nil }
        let names = serials.prefix(3).joined(separator: ", ")
        let more = serials.count > 3 ? " or \(serials.count - 3) others" : ""
        let needs =
            switch (serials.count, origin) {
            case (1, .keychain): "needs encryption \(names), which was not imported"
            case (_, .keychain): "needs one of encryption \(names)\(more), none of which was imported"
            case (1, .token): "needs encryption \(names), which no token has"
            case (_, .token): "needs one of encryption \(names)\(more), none of which a token has"
            }
        return CommandFailure(CMSError(.missingKey, "") as any Error).saying("the message \(needs)")
            .advising(advice([serials[0]], origin))
    }

    /// What gets the identities of these serial numbers to where keys were looked for.
    static func advice(_ serials: [String], _ origin: MailKeys.Origin) -> String {
        // The start of a serial number names its item, and fits a terminal; an archive and a type have them all.
        switch (serials.count, origin) {
        case (1, .keychain):
            "ask for it: keyshare-consumer import \(serials[0].prefix(8)) --uti "
                + Mechanism.keySharing2025.plainType
        case (_, .keychain):
            "ask for it: keyshare-consumer import \(Selector.encryption.zipName) --uti "
                + Selector.encryption.zipType(.keySharing2025)
        case (1, .token): "register it: keyshare-provider token add \(serials[0].prefix(8))"
        case (_, .token): "register them: keyshare-provider token add --types encryption"
        }
    }
}

extension DecryptionDocument.Recipient {
    /// Describes a recipient.
    init(_ recipient: CMSRecipient) {
        self.init(
            serial: recipient.serialNumber, issuer: recipient.issuer.map { "\($0)" },
            subjectKeyIdentifier: recipient.subjectKeyIdentifier?.upperHex, method: recipient.method.rawValue)
    }
}

extension DecryptionDocument.Message {
    /// Describes a message that opened.
    init(_ file: String, _ opened: OpenedMessage, _ keys: MailKeys) {
        var (ciphers, recipients, label, signers) = (
            [String](), [CMSRecipient](), String?.none, [Certificate]()
        )
        for layer in opened.layers {
            switch layer {
            case .encrypted(let cipher, _, let all, let certificate):
                ciphers.append(cipher.rawValue)
                recipients += all
                label = label ?? certificate.label
            case .signed(let certificates): signers += certificates
            }
        }
        self.init(
            file: file, status: .opened,
            subject: opened.header?["Subject"].map { MailText.decoded(headerValue: $0) }, encryption: ciphers,
            authenticated: !opened.isUnauthenticated,
            recipients: recipients.map(DecryptionDocument.Recipient.init), label: label,
            tokenID: label.flatMap(keys.tokenID),
            signers: signers.map { IdentityDocument(IdentitySummary($0)) },
            body: opened.sha256.upperHex.lowercased())
    }
}
