import ArgumentParser
import CommandSupport
import SimulatedKeychain

struct Apps: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apps",
        abstract: "List the apps, their extensions and their entitlements.",
        discussion: """
            EXAMPLE:
              keyshare-device apps --json
            """)

    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        try console.present(AppsDocument(App.installed)) {
            var table = Table(
                .init("APP", .wraps(22)), .init("KIND", leaves: 1), .init("TEAM", leaves: 2),
                .init("GROUPS", .wraps(30)))
            for app in App.installed {
                table.append(
                    app.bundleIdentifier, app.kind.rawValue, app.teamIdentifier,
                    (app.entitlements.keychainAccessGroups + app.entitlements.applicationGroups)
                        .joined(separator: ", "))
            }
            try console.table(table)
        }
    }
}
