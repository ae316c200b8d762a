package import CommandSupport
package import DeviceSimulation
internal import SimulatedKeychain

/// The JSON document of `aliases`: KeyChain's entries, and the user's decisions about each app.
package struct AliasesDocument: Codable, Sendable {
    /// The decisions about one app.
    package struct App: Codable, Sendable {
        /// The name of the app.
        package let app: String
        /// The permission READ_ALIAS: `granted`, `denied` or `undecided`.
        package let readAlias: String
        /// The aliases whose keys the app may use.
        package let keyGrants: [String]
    }

    /// KeyChain's entries, sorted by alias.
    package let entries: [AliasEntriesDocument.Entry]
    /// The apps about which the user has decided, and the consumer's app.
    package let apps: [App]

    /// Creates the document of a device.
    package init(
        entries: [AliasEntriesDocument.Entry], access: [String: AliasAccess.AppAccess]
    ) {
        self.entries = entries
        apps = access.sorted { $0.key < $1.key }.map { name, access in
            App(app: name, readAlias: access.permission.rawValue, keyGrants: access.keyGrants)
        }
    }
}
