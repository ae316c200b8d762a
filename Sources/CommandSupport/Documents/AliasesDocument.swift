package import DeviceSimulation
package import Foundation
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

    /// Reads the entries and the decisions of a device.
    ///
    /// - Throws: `KeychainError`; `FileError` if the decisions cannot be read.
    package init(_ device: Device) throws {
        entries = try AndroidKeyChain(device, now: { Date() }).entries()
            .compactMap { AliasEntriesDocument.Entry($0) }
        apps = try Self.apps(of: device)
    }

    /// Reads the user's decisions about each app of a device.
    ///
    /// - Throws: `FileError` if the decisions cannot be read.
    package static func apps(of device: Device) throws -> [App] {
        let decisions = try AliasAccess(device)
        var access = try decisions.all()
        let consumer = SimulatedKeychain.App.consumer.bundleIdentifier
        access[consumer] = try decisions.access(of: consumer)
        return access.sorted { $0.key < $1.key }.map { name, access in
            App(app: name, readAlias: access.permission.rawValue, keyGrants: access.keyGrants)
        }
    }
}

extension AliasAccess {
    /// Changes the user's decisions about an app: first its permission READ_ALIAS, then a key grant.
    ///
    /// - Parameters:
    ///   - app: The name of the app.
    ///   - permission: The new permission; nil for no change.
    ///   - alias: The alias whose key grant ends; nil for none.
    ///   - time: The time of the broadcast about the key grant.
    /// - Throws: `CommandFailure` (9) if the device has no such app, or the app has no such key grant; `FileError`.
    package func decide(
        about app: String, permission: Permission?, revoking alias: String?, at time: Date
    ) throws {
        let isKnown = try App.installed.contains { $0.bundleIdentifier == app } || all()[app] != nil
        guard isKnown else {
            throw CommandFailure(
                .noSuchItem, "the device has no app \u{201C}\(app)\u{201D}",
                hint: "to list the apps: keyshare-device aliases")
        }
        if let permission { try setPermission(permission, of: app) }
        guard let alias, try !revoke(alias, of: app, at: time) else { return }
        throw CommandFailure(
            .noSuchItem, "\(app) has no key grant for \u{201C}\(alias)\u{201D}",
            hint: "to list the grants: keyshare-device aliases")
    }
}
