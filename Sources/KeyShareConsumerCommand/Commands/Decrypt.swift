import ArgumentParser
import CommandSupport
import Diagnostics
import Foundation
import KeyShareClient
import KeyShareConsumer
import KeySharing
import OpenSSL
import PrivateFiles
import SecureMail

struct Decrypt: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decrypt",
        abstract: "Open encrypted and signed messages with the identities of the consumer's keychain.",
        discussion: """
            Accepts S/MIME messages, and CMS messages in DER or PEM. Writes the MIME entity that the message contains \
            to standard output or to -o, like openssl cms. Every signature is verified. Signatures below security \
            level \(CMSSignature.securityLevel), the default of verify, do not authenticate the content; only verify \
            validates the signer's certificate. No part of an altered message is written.

            If the S/MIME message is a part of a multipart/mixed message, such as one with the footer of a mailing \
            list, only that part is written. The other parts are listed, because they are not protected.

            For several files or a folder, a table shows which messages opened and which keys are missing; -o then \
            creates a folder.

            With --token, the keys of persistent tokens are used instead of imported ones. They remain with the \
            provider, which must be serving and may ask the user. With --alias, the keys of Android's KeyChain are \
            used; the aliases of old encryption keys are needed for old messages.

            For a message that is encrypted with a password, use one of the password options; otherwise the command \
            asks on the terminal. For a message with a shared key (KEKRecipientInfo), the password is the key in \
            hexadecimal digits.

            EXAMPLE:
              keyshare-consumer decrypt mail/all-encryption.eml
              keyshare-consumer decrypt mail -o opened
              keyshare-consumer decrypt --token mail/all-encryption.eml
            """)

    @Argument(
        help: ArgumentHelp("Messages, folders of messages, or - for standard input.", valueName: "file"),
        completion: .file())
    var files: [String]

    @Option(
        help: ArgumentHelp(
            "The S/MIME part to open, such as 2.1 for a forwarded message. (default: the first that is not inside another message)",
            valueName: "path"))
    var part: String?

    @Option(
        help: ArgumentHelp(
            "The only identity to try, by label or serial number or a unique prefix of either. (default: the recipient)",
            valueName: "label"), completion: .keyLabels)
    var label: String?

    @Flag(help: "Use the keys of tokens, which remain with the provider, instead of imported ones.")
    var token = false

    @Flag(
        help:
            "Use the keys of Android's KeyChain, for which the app needs key grants, instead of imported ones."
    )
    var alias = false

    @OptionGroup var password: PasswordOptions
    @OptionGroup var destination: DestinationOptions
    @OptionGroup var access: TokenAccessOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !token || !alias else { throw ValidationError("--token and --alias cannot be combined") }
        try password.validate(files: files)
        if let part, part.wholeMatch(of: /[1-9]\d*(\.[1-9]\d*)*/) == nil {
            throw ValidationError(
                "\u{201C}\(part)\u{201D} is not the path of a part; write numbers such as 2.1")
        }
    }

    func run() async throws {
        let files = try files.flatMap(MessageFile.all(at:))
        let isFolder = self.files.count > 1 || files.contains(where: \.isFound)
        if !isFolder { try destination.requireFree() }
        let passwords = PasswordAttempts(given: try password.password())
        try await MailIdentities.withIdentities(
            of: access, from: alias ? .keyChain : token ? .token : .keychain, only: label
        ) { keys in
            let console = output.console
            if isFolder {
                try openAll(files, keys, passwords, console)
            } else if let file = files.first {
                try open(file, keys, passwords, console)
            }
        }
    }

    // MARK: - One message

    private func open(
        _ file: MessageFile, _ keys: MailIdentities, _ passwords: PasswordAttempts, _ console: Console
    ) throws {
        var passwords = passwords
        var result = MessageResult(file, part: part, keys, &passwords)
        if let opened = result.opened {
            if !console.isJSON || destination.output != nil {
                try destination.write(contentsOf: opened.content, console)
                if let output = destination.output, output != "-" { result.message.output = output }
            }
        }
        try console.present(DecryptionDocument(messages: [result.message]), failure: result.failure) {
            guard result.opened != nil else { return }
            for line in Self.notes(result.message) { console.note(line) }
            if let output = result.message.output { console.note("wrote \(output)") }
        }
    }

    /// The notes about an opened message: its protection, its signers, and the parts that were not opened.
    private static func notes(_ message: DecryptionDocument.Message) -> [String] {
        var notes: [String] = []
        if let label = message.label {
            let key =
                switch message.tokenID {
                case nil: label
                case let name? where name.hasPrefix("keychain:"): "KeyChain\u{2019}s key \(label)"
                case _?: "the token\u{2019}s key \(label)"
                }
            notes.append("encrypted with \(message.encryption.joined(separator: ", ")), opened by \(key)")
        } else if !message.encryption.isEmpty {
            notes.append(
                "encrypted with \(message.encryption.joined(separator: ", ")), opened by the password")
        }
        for signer in message.signers {
            notes.append(
                "signed by \(signer.personText)"
                    + (signer.email.map { " <\($0)>" } ?? "")
                    + "; the signature is valid, the certificate was not verified")
        }
        for weak in message.weakSignatures {
            notes.append(
                "warning: the signature by \(weak.signer) does not authenticate: \(weak.reason), below "
                    + "security level \(CMSSignature.securityLevel)")
        }
        if message.authenticated == false {
            notes.append(
                "warning: not authenticated: the content may have been altered in transit; "
                    + (message.signers.isEmpty
                        ? "it is not signed" : "it has no signature that protects it"))
        }
        if let part = message.part {
            notes.append("opened only part \(part) of the file")
        }
        for other in message.otherParts {
            notes.append(
                other.isMessage
                    ? "not opened: part \(other.part) (\(other.type)), another S/MIME message"
                    : "warning: part \(other.part) (\(other.type)) is not protected; it was not written")
        }
        if let limit = message.partLimit {
            notes.append("warning: \(limit); the other parts were not searched for S/MIME messages")
        }
        return notes
    }

    // MARK: - Many messages

    private func openAll(
        _ files: [MessageFile], _ keys: MailIdentities, _ passwords: PasswordAttempts, _ console: Console
    ) throws {
        var passwords = passwords
        let former = formerFiles()
        let folder = try destination.output.map { _ in
            try destination.newFolder(what: "several messages can be written only to a folder") {
                $0 == Self.indexName || former[$0] != nil
            }
        }
        defer { folder?.discard() }
        var bar = ProgressBar(console, "messages", total: files.count)
        defer { bar.clear() }
        var (messages, failures, missing) = ([DecryptionDocument.Message](), [CommandFailure](), [String]())
        var names = Set<String>()
        for (index, file) in files.enumerated() {
            var result = MessageResult(file, part: part, keys, &passwords)
            if let opened = result.opened, let folder {
                let name = Self.unused(file.name, &names)
                try destination.add(contentsOf: opened.content, as: name, to: folder)
                result.message.output = folder.path + "/" + name
            }
            messages.append(result.message)
            if let failure = result.failure { failures.append(failure.about(file.name)) }
            // One key is enough to open a message, so the hint names only the first missing key of each message.
            if let serial = result.missing.first, !missing.contains(serial) { missing.append(serial) }
            bar.show(index + 1)
        }
        bar.clear()
        // If a key is missing or locked now, the content that an earlier run decrypted is kept.
        let written = Self.files(of: messages)
        let unopened = Set(messages.filter { $0.status != .opened }.map(\.file))
        let isPartial =
            !failures.isEmpty || written.isEmpty || !unopened.isDisjoint(with: former.values)
        // Standard input is another message each time.
        let lost = isPartial ? former.filter { written[$0.key] != $0.value || $0.value == "-" } : [:]
        if !lost.isEmpty { messages = messages.map(\.notWritten) }
        let document = DecryptionDocument(messages: messages)
        if let folder, lost.isEmpty {
            let index = [UInt8](try DocumentCoding.encode(document)) + [0x0A]
            try destination.add(index, as: Self.indexName, to: folder)
            try destination.publish(folder)
        }
        let reported = summarize(failures, messages, missing, keys.origin)
        try console.present(document, failure: failures.first, reporting: reported) {
            try console.table(of: messages.filter { $0.status != .skipped })
            note(messages, lost.isEmpty ? folder : nil, console)
            if let folder, !lost.isEmpty {
                console.note(
                    "warning: the folder \(folder.path) is unchanged, because it contains "
                        + "\(counted(lost.count, "message", "messages")) that this run did not open")
            }
        }
    }

    /// Returns the failures to report: one for all messages whose keys are missing, and the others.
    ///
    /// - Parameter missing: The serial numbers of the missing keys.
    private func summarize(
        _ failures: [CommandFailure], _ messages: [DecryptionDocument.Message], _ missing: [String],
        _ origin: MailIdentities.Origin
    ) -> [CommandFailure] {
        var reported = failures.filter { $0.code != "missing-key" }
        if let first = failures.first(where: { $0.code == "missing-key" }) {
            let count = messages.count { $0.status == .missingKey }
            reported.append(
                first.saying(
                    counted(count, "message needs a key that ", "messages need keys that ")
                        + lack(of: count)
                )
                .advising(MessageResult.advice(missing, origin)))
        }
        return reported
    }

    /// Prints the number of opened messages, and warnings about content that is not protected.
    private func note(
        _ messages: [DecryptionDocument.Message], _ folder: NewFolder?, _ console: Console
    ) {
        let opened = messages.count { $0.status == .opened }
        let skipped = messages.count { $0.status == .skipped }
        console.note(
            "\(opened) of \(counted(messages.count - skipped, "message", "messages")) opened"
                + (skipped > 0 ? ", \(counted(skipped, "other file", "other files")) skipped" : "")
                + (folder.map { "; wrote the folder \($0.path)" } ?? ""))
        if messages.contains(where: { !$0.otherParts.isEmpty }) {
            console.note("warning: parts outside S/MIME messages are not protected and were not written")
        }
        if messages.contains(where: { $0.authenticated == false }) {
            console.note("warning: messages that are not authenticated may have been altered in transit")
        }
    }

    /// The end of a sentence about missing keys.
    private func lack(of count: Int) -> String {
        if alias { return "no alias has" }
        return token ? "no token has" : count == 1 ? "was not imported" : "were not imported"
    }

    /// The name of the index file in an output folder.
    private static let indexName = "opened.json"

    private static func unused(_ path: String, _ names: inout Set<String>) -> String {
        let name =
            path == "-" ? "standard-input" : PrivateFolder.name(of: path) ?? "message"
        var (candidate, number) = (name, 1)
        while candidate == indexName || !names.insert(candidate).inserted {
            number += 1
            candidate = "\(number)-\(name)"
        }
        return candidate
    }

    /// The files that an earlier run wrote into a folder, keyed by name, each with the file of its message. Empty if the
    /// folder has no index, or the copy of another folder's index.
    private func formerFiles() -> [String: String] {
        let document = destination.formerIndex(Self.indexName, as: DecryptionDocument.self)
        guard let document, let output = destination.output else { return [:] }
        let folder = PrivateFolder.name(of: output)
        let isOwn = document.messages.compactMap(\.output).allSatisfy {
            PrivateFolder.name(of: PrivateFolder.parent(of: $0)) == folder
        }
        return isOwn ? Self.files(of: document.messages) : [:]
    }

    /// The file of each message whose content was written, keyed by the name of the content's file.
    private static func files(of messages: [DecryptionDocument.Message]) -> [String: String] {
        let written = messages.compactMap { message in
            message.output.flatMap(PrivateFolder.name(of:)).map { ($0, message.file) }
        }
        return Dictionary(written) { first, _ in first }
    }
}

extension DecryptionDocument.Message {
    /// The message without the path of its content.
    fileprivate var notWritten: Self {
        var message = self
        message.output = nil
        return message
    }
}
