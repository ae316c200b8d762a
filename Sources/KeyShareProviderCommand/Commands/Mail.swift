import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL
import PrivateFiles
import TestCredentials

struct Mail: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mail",
        abstract: "Write signed and encrypted mails that tell which keys a consumer has.",
        discussion: """
            A folder is made with mails of S/MIME, which any mail program opens: for each encryption identity one that \
            only its key opens, for each signature identity a signed one, one signed and encrypted for the newest of \
            both, and one encrypted for all encryption identities. expected.json says for each which labels open it, \
            who signed, and the SHA-256 of what is inside.

            Unless the options say otherwise, the mails take turns in cipher and in the padding of RSA keys. Keys on \
            curves get the content's key by ECDH.

            EXAMPLE:
              keyshare-provider mail -o mail
              keyshare-provider mail -o old-mail --cipher aes128-cbc --rsa pkcs1
            """)

    @Option(
        help: ArgumentHelp(
            "The cipher of all mails: \(ContentCipher.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "name"), completion: .list(ContentCipher.allCases.map(\.rawValue)))
    var cipher: ContentCipher?

    @Option(
        help: ArgumentHelp("How RSA keys get the content's key: pkcs1 or oaep.", valueName: "padding"),
        completion: .list(RSAKeyTransport.allCases.map(\.rawValue)))
    var rsa: RSAKeyTransport?

    @OptionGroup var persons: PersonFilter
    @OptionGroup var destination: DestinationOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let store = try ProviderStore(try device.openDevice())
        let published = try ProviderCatalogue(store, root: .all).snapshot()
        try persons.require(published.identities)
        var names = UniqueFilenames()
        let mails = TestMail.plan(
            for: published.identities.filter(persons.includes), cipher: cipher, transport: rsa
        ).map { $0.named(names.claim($0.file)) }
        guard !mails.isEmpty else {
            throw CommandFailure(
                .noSuchItem, "there is no identity to encrypt for or to sign with",
                hint: "make some: keyshare-provider provision")
        }
        let former = Self.names(in: destination.output)
        let folder = try destination.newFolder(what: "the mails go to a folder") { former.contains($0) }
        defer { folder.discard() }
        var writer = TestMailWriter(
            store, at: clock.now, random: .system, scratch: DestinationOptions.scratchFolder)
        var bar = ProgressBar(console, "mails", total: mails.count)
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
        try destination.publish(folder)
        bar.clear()
        try console.present(TestMailDocument(folder: folder.path, messages: messages)) {
            console.note(
                "wrote \(mails.count) mails and \(TestMailDocument.filename) to the folder \(folder.path)")
        }
    }

    /// The names of the files that an earlier run wrote into a folder; empty where none did.
    private static func names(in folder: String?) -> Set<String> {
        guard let folder,
            let bytes = FileManager.default.contents(atPath: folder + "/" + TestMailDocument.filename),
            let document = try? DocumentCoding.decode(TestMailDocument.self, from: bytes)
        else { return [] }
        return Set(document.messages.map(\.file) + [TestMailDocument.filename])
    }
}

extension ContentCipher: ExpressibleByArgument {}
extension RSAKeyTransport: ExpressibleByArgument {}
