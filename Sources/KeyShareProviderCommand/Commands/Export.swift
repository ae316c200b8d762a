import ArgumentParser
import CertificateReading
import CommandSupport
import Foundation
internal import KeyShareProtocol
import KeyShareProvider
import KeySharing
import OpenSSL
import PersistentToken
import SecretMemory
import TestVectors

struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export items as a consumer would receive them: one to a file, or several to a folder.",
        discussion: """
            Files are encrypted with the password of the password service, unless a password option is given. Several \
            items, --all and --person write a new folder with the files and index.json, which lists the identity in \
            each file. The folder is written completely or not at all.

            --mechanism legacy writes the file that a legacy consumer would receive for the types of --uti: tmp.p12 or \
            tmp.zip. --for writes the files that a public sample app bundles, with the names and the password from the \
            app's code: \(SampleApp.allCases.map(\.rawValue).joined(separator: ", ")).

            EXAMPLE:
              keyshare-provider export Encryption.zip --password-file secret.txt \\
                -o encryption.zip
              keyshare-provider export --all --names person --password-file secret.txt \\
                -o exported
              keyshare-provider export tmp.zip -o tmp.zip --mechanism legacy \\
                --uti \(IdentitySelector.all.zipType(under: .legacy))
              keyshare-provider export --for \(SampleApp.sampleKeyProvider2025.rawValue) -o sample
            """)

    @Argument(
        help: ArgumentHelp(
            "Identifiers, file names or paths of items, or prefixes of labels or serial numbers.",
            valueName: "item"), completion: .publishedItems)
    var items: [String] = []

    @Flag(help: "Export every identity of the provider, or of --person.")
    var all = false

    @Option(
        help: ArgumentHelp(
            "Name the files of a folder by type and serial number, or by person, type and date. "
                + "(default: serial)", valueName: "serial|person"))
    var names: FileNaming?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Write the files that this sample app bundles.", valueName: "app"))
    var sample: SampleApp?

    @OptionGroup var request: MechanismOptions

    @OptionGroup var persons: PersonFilter
    @OptionGroup var destination: DestinationOptions
    @OptionGroup var profile: ProfileOptions
    @OptionGroup var password: PasswordOptions
    @OptionGroup var seeding: SeedOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    /// The note about files that are encrypted with the service password, which no command prints.
    static let secretPassword =
        "encrypted with the password service's secret password; "
        + "to use another password, add --password-file"

    /// Prints a note if the written files are encrypted with the service password, or with an empty password that the
    /// profile does not require.
    private func note(_ secret: SecretBytes, _ profile: PKCS12Profile, _ console: Console) {
        guard !profile.usesEmptyPassword else { return }
        if !password.isGiven {
            console.note(Self.secretPassword)
        } else if secret.isEmpty {
            console.note("warning: the password is empty, so anyone can open the exported keys")
        }
    }

    func validate() throws {
        guard !all || items.isEmpty else {
            throw ValidationError("--all exports everything; it cannot be combined with items")
        }
        if sample != nil {
            guard items.isEmpty, !all, names == nil, request.mechanism == .keySharing2025,
                request.uti.isEmpty,
                !password.isGiven
            else {
                throw ValidationError(
                    "--for selects files, names and password; only --person, --profile and -o can be added"
                )
            }
        } else if items.isEmpty, !all, persons.person == nil {
            throw ValidationError("specify an item, or use --all, --person or --for")
        }
        guard names == nil || isFolder else {
            throw ValidationError("--names applies only to an export to a folder")
        }
    }

    /// Whether to write a folder instead of a file.
    private var isFolder: Bool { items.count != 1 || destination.output?.hasSuffix("/") == true }

    func run() async throws {
        let console = output.console
        seeding.warn(console)
        try destination.requireFree()
        let device = try device.openDevice()
        let behaviour = try ServiceBehaviour.stored(on: device)
        let store = try ProviderStore(device)
        let published = try ProviderCatalogue(store, root: .all).snapshot()
        try requirePublished(published, store)
        let profile =
            sample == nil
            ? self.profile.selected(over: behaviour) : self.profile.selected(usual: .purebredSample)
        if profile.usesEmptyPassword, password.isGiven {
            throw CommandFailure(
                .usage,
                "files of the profile \(profile.name.rawValue) use the empty password, not this one",
                hint: "omit the password, or choose another --profile")
        }
        let now = seeding.date(clock)
        let exporter = Exporter(
            store, profile: profile, friendlyName: self.profile.friendlyName ?? behaviour?.friendlyName,
            random: seeding.source)
        let choice = ExportChoice(
            published, mechanism: request.mechanism, types: request.uti, now: now, names: names,
            isIncluded: persons.includes)
        if isFolder {
            let files =
                if let sample {
                    try choice.files(for: sample)
                } else {
                    try await choice.files(items)
                }
            let secret =
                try sample == nil
                ? password.password() ?? store.servicePassword.read() : SecretBytes(utf8: SampleApp.password)
            try await ExportFolder(
                files: files, exporter: exporter, snapshot: choice.snapshot, password: secret, now: now,
                profile: profile.name.rawValue, sample: sample
            ).write(to: destination, console)
            if sample == nil { note(secret, profile, console) }
        } else {
            let file = try await choice.file(items[0])
            let secret = try password.password() ?? store.servicePassword.read()
            let bytes = try await file.bytes(exporter, choice.snapshot, password: secret, now: now)
            if output.json { try destination.requireFile() }
            try destination.write(bytes, console, isBinary: !output.json)
            note(secret, profile, console)
            try console.present(
                ExportDocument(identifier: file.identifier, filename: file.name, size: bytes.count)
            ) {}
        }
    }
}

extension Export {
    /// Throws an error if a name or the chosen person matches only token-only identities.
    ///
    /// - Throws: `CommandFailure` (10) with `errSecUnimplemented`, the status that Apple's
    ///   `SecKeyCopyExternalRepresentation` returns for a token's key.
    private func requirePublished(_ published: CatalogueSnapshot, _ store: ProviderStore) throws {
        let unpublished = try TokenStore(store).unpublished().map { IdentitySummary($0.certificate) }
        guard !unpublished.isEmpty else { return try persons.require(published.identities) }
        let chosen = unpublished.filter(persons.includes)
        let selectsNoPublishedIdentity =
            published.identities.filter(persons.includes).isEmpty && !chosen.isEmpty
        let named = items.first { name in
            (try? IdentityLookup.find(name, in: Array(published.identities))) == nil
                && (try? IdentityLookup.find(name, in: unpublished)) != nil
        }
        if selectsNoPublishedIdentity || named != nil {
            let error = TokenError(
                .notImplemented,
                named.map { "\u{201C}\($0)\u{201D} is token-only: its key cannot be exported" }
                    ?? "all of these identities are token-only: their keys cannot be exported")
            throw CommandFailure(error).advising(
                "use the token: keyshare-consumer token sign, or keyshare-consumer token decrypt")
        }
        try persons.require(published.identities)
    }
}

extension SampleApp: ExpressibleByArgument {}
extension FileNaming: ExpressibleByArgument {}
