import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL

struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write one item's bytes, as a consumer would get them.",
        discussion: """
            The file is encrypted with the password of the password service, unless a password option names another.

            EXAMPLE:
              keyshare-provider export Encryption.zip --password-file secret.txt -o encryption.zip
            """)

    @Argument(help: "An item's identifier or file name.")
    var item: String

    @OptionGroup var destination: DestinationOptions
    @OptionGroup var profile: ProfileOptions
    @OptionGroup var password: PasswordOptions
    @OptionGroup var seeding: SeedOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let console = output.console
        seeding.warn()
        let device = try device.openDevice()
        let behaviour = try ServiceBehaviour.stored(on: device)
        let store = try ProviderStore(device)
        let snapshot = try ProviderCatalogue(store, root: .all).snapshot()
        let now = seeding.date(clock)
        let listing = ItemListing(snapshot, now: now)
        let found = try await listing.find(item)
        guard let identifier = ItemIdentifier(found.identifier) else {
            throw CommandFailure(
                .unexpected, "the item \u{201C}\(found.identifier)\u{201D} has no identifier")
        }
        let profile = self.profile.selected(over: behaviour)
        if profile.usesEmptyPassword, password.isGiven {
            throw CommandFailure(
                .usage,
                "files of the profile \(profile.name.rawValue) are under the empty password, not under this one",
                hint: "leave the password away, or name another --profile")
        }
        let secret = try password.password() ?? store.servicePassword.read()
        let bytes = try await Exporter(
            store, profile: profile, friendlyName: self.profile.friendlyName ?? behaviour?.friendlyName,
            random: seeding.source
        ).content(
            of: identifier, in: snapshot, password: secret, now: now)
        if output.json { try destination.requireFile() }
        try destination.write(bytes, console, isBinary: !output.json)
        try console.present(
            ExportDocument(identifier: found.identifier, filename: found.filename, size: bytes.count)
        ) {}
    }
}
