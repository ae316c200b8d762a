import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import SimulatedKeychain

struct KeychainItems: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keychain",
        abstract:
            "List the keychain items that an app can see, and whether they can be used now; never prints secrets.",
        discussion: """
            If the app has the entitlement com.apple.token, the list ends with the identities of the provider's \
            persistent tokens, in the access group com.apple.token.

            EXAMPLE:
              keyshare-device keychain --app provider
            """)

    @Option(help: "The app: \(AppName.allCases.map(\.rawValue).joined(separator: ", ")).")
    var app: AppName?

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let device = try device.openDevice()
        let state = try device.state()
        let apps = app.map { [$0.app] } ?? [.provider, .consumer]
        let items = try apps.flatMap { app in
            let keychain = try Keychain(device: device, app: app)
            return try ItemClass.allCases.flatMap { itemClass in
                try Self.items(itemClass, in: keychain).map { KeychainDocument.Item($0, of: app, in: state) }
            } + (app.entitlements.mayUseTokens ? Self.tokens(on: device, for: app, in: state) : [])
        }
        try console.present(KeychainDocument(items)) {
            var table = Table(
                "CLASS", .init("NAME", .uniqueStart()), .init("GROUP", .wraps(20), leaves: 1),
                .init("ACCESSIBLE", .wraps(30)), "NOW")
            for item in items {
                table.append(
                    item.class, item.name, item.accessGroup, item.accessible, item.isOpen ? "open" : "closed")
            }
            try console.table(table)
            console.note("\(counted(items.count, "item", "items")); the device is \(state)")
        }
    }

    /// Returns the identities of the provider's tokens, as the system shows them to an app that may use tokens.
    private static func tokens(
        on device: Device, for app: App, in state: DeviceState
    ) throws(KeychainError) -> [KeychainDocument.Item] {
        let keychain = try Keychain(device: device, app: .providerToken)
        let keys = try items(.key, in: keychain)
        return try items(.certificate, in: keychain).map { certificate in
            let key = keys.first { $0.attributes.label == certificate.attributes.label }
            return KeychainDocument.Item(token: certificate, key: key, of: app, in: state)
        }
    }

    private static func items(
        _ itemClass: ItemClass, in keychain: Keychain
    ) throws(KeychainError) -> [KeychainItem] {
        do {
            return try keychain.copyMatching(KeychainQuery(itemClass), limit: .max)
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return []
        }
    }
}
