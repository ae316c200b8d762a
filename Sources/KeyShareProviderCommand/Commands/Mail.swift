import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL
import PrivateFiles
import StandardExtensions
import TestVectors

struct Mail: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mail",
        abstract: "Write S/MIME test messages that prove which keys a consumer has imported.",
        discussion: """
            Any mail program can open the messages. The command writes one message for each encryption identity, \
            which only that identity decrypts, and a signed message for each signature identity. One further message \
            is signed and encrypted with the newest identities, and one is encrypted for all encryption identities. \
            For each message, expected.json lists the labels that decrypt it, the signer, and the SHA-256 of its \
            content. checklist.html is a page to print for tests on a phone.

            By default the messages alternate between ciphers and between the paddings of RSA keys. For \
            elliptic-curve keys, the content key is encrypted with ECDH. For mail programs without AES-GCM, use \
            --subset no-gcm; for those without OAEP, use --subset no-oaep.

            EXAMPLE:
              keyshare-provider mail -o mail
              keyshare-provider mail -o old-mail --cipher aes128-cbc --rsa pkcs1
              keyshare-provider mail -o phone-mail --subset no-gcm no-oaep
            """)

    @Option(
        help: ArgumentHelp(
            "The cipher of all messages: \(ContentCipher.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "name"), completion: .list(ContentCipher.allCases.map(\.rawValue)))
    var cipher: ContentCipher?

    @Option(
        help: ArgumentHelp("The RSA padding for the content key: pkcs1 or oaep.", valueName: "padding"),
        completion: .list(RSAKeyTransport.allCases.map(\.rawValue)))
    var rsa: RSAKeyTransport?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Leave out algorithms that the mail program does not support: no-gcm, no-oaep.", valueName: "name"
        ),
        completion: .list(MailSubset.allCases.map(\.rawValue)))
    var subset: [MailSubset] = []

    @Flag(
        help: """
            Protect the header fields (RFC 9788). Encrypted messages then hide the subject, and repeat it at the start \
            of the text for older mail programs.
            """)
    var protectHeaders = false

    @OptionGroup var persons: PersonFilter
    @OptionGroup var destination: DestinationOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if let cipher, let subset = subset.first(where: { !$0.includes(cipher) }) {
            throw ValidationError("--subset \(subset.rawValue) excludes --cipher \(cipher.rawValue)")
        }
        if let rsa, let subset = subset.first(where: { !$0.includes(rsa) }) {
            throw ValidationError("--subset \(subset.rawValue) excludes --rsa \(rsa.rawValue)")
        }
    }

    func run() throws {
        let console = output.console
        let store = try ProviderStore(try device.openDevice())
        let published = try ProviderCatalogue(store, root: .all).snapshot()
        try persons.require(published.identities)
        var names = UniqueFilenames()
        let mails = TestMail.plan(
            for: published.identities.filter(persons.includes), cipher: cipher, transport: rsa,
            subsets: subset
        ).map { $0.named(names.claim($0.file)) }
        guard !mails.isEmpty else {
            throw CommandFailure(
                .noSuchItem, "no identity can encrypt or sign",
                hint: "create some: keyshare-provider provision")
        }
        let former = formerNames()
        let folder = try destination.newFolder(what: "messages can be written only to a folder") {
            former.contains($0)
        }
        defer { folder.discard() }
        var writer = TestMailWriter(
            store, at: clock.now, random: .system, scratch: DestinationOptions.scratchFolder,
            protectsHeaders: protectHeaders)
        var bar = ProgressBar(console, "messages", total: mails.count)
        defer { bar.clear() }
        var messages: [TestMailDocument.Message] = []
        for (index, mail) in mails.enumerated() {
            let written = try writer.write(mail)
            try destination.add(written.mail, as: mail.file, to: folder)
            messages.append(
                TestMailDocument.Message(
                    file: mail.file, recipients: mail.recipients.map(\.label), signer: mail.signer?.label,
                    body: written.bodySHA256.upperHex.lowercased(), encryption: mail.cipher?.rawValue,
                    rsa: mail.cipher.map { _ in mail.transport.rawValue }))
            bar.show(index + 1)
        }
        let expected = try DocumentCoding.encode(TestMailDocument(messages: messages))
        try destination.add([UInt8](expected) + [0x0A], as: TestMailDocument.filename, to: folder)
        try destination.add(Array(MailChecklist(mails).html.utf8), as: MailChecklist.filename, to: folder)
        try destination.publish(folder)
        bar.clear()
        try console.present(TestMailDocument(folder: folder.path, messages: messages)) {
            console.note(
                "wrote \(mails.count) messages and \(TestMailDocument.filename) to the folder \(folder.path)")
            console.note("to check them on a phone, print \(folder.path)/\(MailChecklist.filename)")
        }
    }

    /// Returns the names of the files that an earlier run wrote into a folder; empty if there are none.
    private func formerNames() -> Set<String> {
        let document = destination.formerIndex(TestMailDocument.filename, as: TestMailDocument.self)
        guard let document else { return [] }
        return Set(document.messages.map(\.file) + [TestMailDocument.filename, MailChecklist.filename])
    }
}

extension ContentCipher: ExpressibleByArgument {}
extension RSAKeyTransport: ExpressibleByArgument {}
extension MailSubset: ExpressibleByArgument {}
