import ArgumentParser
import CommandSupport
import Foundation
import KeyShareConsumer
import KeySharing
import OpenSSL
import PrivateFiles
import SecureMail
import StandardExtensions

struct Sign: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign a message or a file with an identity of the consumer's keychain.",
        discussion: """
            The result is an S/MIME message, multipart/signed, which any mail program verifies. A message keeps its \
            headers; text becomes the body of a message, and any other file becomes an attachment.

            With --token, a persistent token's key signs instead of an imported one. It remains with the provider, \
            which must be serving and may ask the user. With --alias, a key of Android's KeyChain signs.

            EXAMPLE:
              keyshare-consumer import Signature.zip --uti \(IdentitySelector.signature.zipType(under: .keySharing2025))
              keyshare-consumer sign letter.txt -o letter.eml
              keyshare-consumer sign --token letter.txt -o letter.eml
            """)

    @Argument(help: "The file to sign, or - for standard input.", completion: .file())
    var file: String

    @Option(
        help: ArgumentHelp(
            "The identity, by label or serial number or a unique prefix of either. (default: the newest that can sign)",
            valueName: "label"), completion: .keyLabels)
    var label: String?

    @Flag(help: "Use the keys of tokens, which remain with the provider, instead of imported ones.")
    var token = false

    @Flag(help: "Also sign From, Subject and the other header fields (RFC 9788).")
    var protectHeaders = false

    @Flag(
        help:
            "Use the keys of Android's KeyChain, for which the app needs a key grant, instead of imported ones."
    )
    var alias = false

    @OptionGroup var destination: DestinationOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var access: TokenAccessOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !token || !alias else { throw ValidationError("--token and --alias cannot be combined") }
    }

    func run() async throws {
        if output.json { try destination.requireFile() }
        try destination.requireFree()
        try await MailIdentities.withIdentities(
            of: access, from: alias ? .keyChain : token ? .token : .keychain, only: label, sign)
    }

    private func sign(with keys: MailIdentities) throws {
        let console = output.console
        let (identity, key, skipped) = try keys.requireSigner(at: clock.now)
        let scratch = DestinationOptions.scratchFolder
        let mail = try UnnamedFile(in: scratch)
        try InputFile.withFile(file, scratch: scratch) { descriptor in
            let name = file == "-" ? "attachment" : PrivateFolder.name(of: file) ?? file
            var random = RandomSource.system.generator()
            let content = try SignedContent(
                descriptor, name: name, scratch: scratch,
                newHeader: Self.header(of: name, identity.summary, at: clock.now, &random),
                protectsHeader: protectHeaders)
            try MailWriter.sign(
                content.header, content.entity, as: (identity.certificate, key), chain: [],
                boundary: "keyshare-\(random.octets(12).upperHex)", to: mail)
        }
        try destination.write(contentsOf: mail, console)
        let signer = IdentityDocument(identity.summary)
        let written = destination.output == "-" ? nil : destination.output
        let document = SignatureDocument(
            file: file, output: written, signer: signer, tokenID: identity.tokenID)
        try console.present(document) {
            for other in skipped {
                console.note(
                    "skipped \(other.summary.label): its key is of type \(other.certificate.publicKey.type.name), "
                        + "which cannot sign messages")
            }
            console.note(
                "signed as \(signer.personText) with \(token ? "the token\u{2019}s key " : alias ? "KeyChain\u{2019}s key " : "")"
                    + identity.summary.label
                    + (written.map { "; wrote \($0)" } ?? ""))
        }
    }

    /// The headers of a new message around a file that was not a message.
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
