package import SimulatedKeychain

/// The JSON document of `keyshare-device apps`.
package struct AppsDocument: Codable, Sendable {
    /// One app or extension.
    package struct App: Codable, Sendable {
        /// The bundle identifier.
        package let bundleIdentifier: String
        /// The identifier of the team that signed the app.
        package let teamIdentifier: String
        /// The kind: application, or a kind of extension.
        package let kind: String
        /// The entitlements of the app.
        package let entitlements: Entitlements
    }

    /// The installed apps.
    package let apps: [App]

    /// Creates the document with `apps` and their entitlements.
    package init(_ apps: [SimulatedKeychain.App]) {
        self.apps = apps.map {
            App(
                bundleIdentifier: $0.bundleIdentifier, teamIdentifier: $0.teamIdentifier,
                kind: $0.kind.rawValue, entitlements: $0.entitlements)
        }
    }
}
