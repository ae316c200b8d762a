import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import Foundation
import SimulatedKeychain

struct Aliases: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aliases",
        abstract: "Show Android's KeyChain: entries, key grants and the permission READ_ALIAS.",
        discussion: """
            Permissions and grants are the user's decisions. They survive restarts of the device and of all apps. With \
            ask, the user is asked again at the next query (keyshare-device presence).

            EXAMPLE:
              keyshare-device aliases
              keyshare-device aliases --permission deny
              keyshare-device aliases --revoke 'Purebred Recovered #1'
            """)

    @Option(help: "Set READ_ALIAS of the app: allow, deny or ask.")
    var permission: AliasAccess.Decision?

    @Option(
        help: ArgumentHelp("End the app's key grant for this alias.", valueName: "alias"),
        completion: .grantedAliases)
    var revoke: String?

    @Option(
        help: ArgumentHelp(
            "The app: consumer, or the name that another client sends.", valueName: "app"),
        completion: .appsWithDecisions)
    var app = AppName.consumer.rawValue

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let device = try self.device.openDevice()
        let name = AppName(rawValue: app)?.app.bundleIdentifier ?? app
        try AliasAccess(device).decide(
            about: name, permission: permission?.permission, revoking: revoke, at: Date())
        let document = try AliasesDocument(device)
        let entries = document.entries
        try console.present(document) {
            if entries.isEmpty {
                console.note("KeyChain has no entries")
            } else {
                try console.table(of: entries)
            }
            var table = Table(.init("APP", .wraps(22)), "READ_ALIAS", .init("KEY GRANTS", .wraps(30)))
            for app in document.apps {
                table.append(app.app, app.readAlias, app.keyGrants.joined(separator: ", "))
            }
            try console.table(table)
        }
    }
}

extension AliasAccess.Decision: ExpressibleByArgument {}
