import ArgumentParser
import CommandSupport
import DeviceSimulation

struct Apps: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the apps, their extensions and what they are entitled to.",
        discussion: """
            EXAMPLE:
              keyshare-device apps --json
            """)

    // Every device has the same apps; taken all the same, as by every command.
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        if output.json {
            try console.document(["apps": App.installed.map(AppDocument.init)])
            return
        }
        var table = Table("APP", "KIND", "TEAM", "GROUPS")
        for app in App.installed {
            table.append(
                app.bundleIdentifier, app.kind.rawValue, app.teamIdentifier,
                (app.entitlements.keychainAccessGroups + app.entitlements.applicationGroups)
                    .joined(separator: ", "))
        }
        try console.lines(table.text)
    }
}

private struct AppDocument: Encodable {
    let bundleIdentifier: String
    let teamIdentifier: String
    let kind: String
    let entitlements: Entitlements

    init(_ app: App) {
        bundleIdentifier = app.bundleIdentifier
        teamIdentifier = app.teamIdentifier
        kind = app.kind.rawValue
        entitlements = app.entitlements
    }
}
