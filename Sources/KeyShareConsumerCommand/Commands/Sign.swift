import ArgumentParser
import CommandSupport
import Foundation
import KeyShareConsumer
import KeySharing
import OpenSSL
import PrivateFiles
import SecureMail

struct Sign: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign a mail or a file with an identity of the consumer's keychain.",
        discussion: """
            The result is a mail of S/MIME, multipart/signed, which any mail program verifies. A mail keeps its \
            headers; a text becomes the text of a mail, any other file its attachment.

            EXAMPLE:
              keyshare-consumer import Signature.zip --uti \(Selector.signature.zipType(.keySharing2025))
              keyshare-consumer sign letter.txt -o letter.eml
            """)

    @Argument(help: "The file to sign, or - for standard input.", completion: .file())
    var file: String

    @Option(
        help: ArgumentHelp(
            "The identity, by label or serial number or enough of the start. (default: the newest for signatures)",
            valueName: "label"), completion: .consumerLabels)
    var label: String?

    @OptionGroup var destination: DestinationOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        if output.json { try destination.requireFile() }
        try destination.requireFree()
        let keys = try MailKeys(try ConsumerStore(try device.openDevice()), only: label)
        let (identity, key) = try keys.signer(at: clock.now)
        let scratch = DestinationOptions.scratchFolder
        let mail = try UnnamedFile(in: scratch)
        try InputFile.withFile(file, scratch: scratch) { descriptor in
            let name = file == "-" ? "attachment" : file.split(separator: "/").last.map(String.init) ?? file
            let content = try SignedContent(descriptor, name: name, scratch: scratch)
            var random = RandomSource.system.generator()
            let header =
                content.isMail
                ? content.header : Self.header(of: name, identity.summary, at: clock.now, &random)
            try MailWriter.sign(
                header, content.entity, as: (identity.certificate, key), chain: [],
                boundary: "keyshare-\(random.octets(12).upperHex)", to: mail)
        }
        try destination.write(contentsOf: mail, console)
        let signer = IdentityDocument(identity.summary)
        let written = destination.output == "-" ? nil : destination.output
        try console.present(SignatureDocument(file: file, output: written, signer: signer)) {
            console.note(
                "signed as \(signer.personText) with \(identity.summary.label)"
                    + (written.map { "; wrote \($0)" } ?? ""))
        }
    }

    /// The headers of a mail with a file that was none.
    private static func header(
        of name: String, _ identity: IdentitySummary, at now: Date, _ random: inout RandomSource.Generator
    ) -> MailHeader {
        MailHeader([
            .init("From", MailText.address(identity.details?.email, name: identity.details?.commonName)),
            .init("Subject", MailText.headerValue(name)),
            .init("Date", MailText.date(now)),
            .init("Message-ID", "<\(random.octets(16).upperHex)@mail.example>"),
        ])
    }
}
