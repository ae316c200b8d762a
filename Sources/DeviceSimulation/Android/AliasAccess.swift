package import Foundation
internal import KeySharing
package import PrivateFiles
internal import SimulatedKeychain

/// The user's decisions about alias sharing: the permission READ_ALIAS of each app, and the key grants of each app for
/// each alias (docs/rules.md R9.11, R9.12). They survive restarts of the device and of all apps.
package struct AliasAccess: Sendable {
    /// The states of the permission READ_ALIAS.
    package enum Permission: String, Sendable, Hashable, Codable, CaseIterable {
        /// The app may query aliases.
        case granted
        /// The app may not query aliases.
        case denied
        /// The user is asked when the app first needs the permission.
        case undecided
    }

    /// The decision that changes a permission, by its name in commands and on the page of the device.
    package enum Decision: String, Sendable, Codable, CaseIterable {
        case allow, deny, ask

        /// The state of the permission after the decision.
        package var permission: Permission {
            switch self {
            case .allow: .granted
            case .deny: .denied
            case .ask: .undecided
            }
        }
    }

    /// The decisions about one app.
    package struct AppAccess: Sendable, Hashable, Codable {
        /// The permission READ_ALIAS.
        package fileprivate(set) var permission = Permission.undecided
        /// The aliases whose keys the app may use, sorted bytewise.
        package fileprivate(set) var keyGrants: [String] = []

        /// Returns whether the app may use the key of `alias`.
        package func mayUse(_ alias: String) -> Bool { keyGrants.contains { $0.hasSameBytes(as: alias) } }
    }

    /// The maximum number of apps with decisions. A further app replaces one that has READ_ALIAS and no key grants.
    package static let mostApps = 256
    /// The maximum number of key grants of all apps together.
    package static let mostGrants = 4_096
    private static let fileLimit = 8 << 20
    private static let undecided = AppAccess()

    private let device: Device
    private let apps: LockedDocument<[String: AppAccess]>

    /// Opens the decisions of a device's user.
    ///
    /// - Throws: `FileError` if the folder of the file cannot be created.
    package init(_ device: Device) throws(FileError) {
        self.device = device
        apps = LockedDocument(
            path: try device.androidFolder() + "/access", limit: Self.fileLimit, initial: [:])
    }

    /// Opens the decisions of a device's user without changing the device; nil if the user has decided nothing.
    ///
    /// - Throws: `FileError` if the folder of the file is not accessible.
    package init?(existingOn device: Device) throws(FileError) {
        guard FileManager.default.fileExists(atPath: device.folder + "/android/access") else { return nil }
        try self.init(device)
    }

    /// Returns the decisions about all apps, by the name of the app.
    ///
    /// - Throws: `FileError` if the file cannot be read.
    package func all() throws(FileError) -> [String: AppAccess] { try apps.read() }

    /// Returns the decisions about one app.
    ///
    /// - Throws: `FileError` if the file cannot be read.
    package func access(of app: String) throws(FileError) -> AppAccess {
        try apps.read()[app] ?? Self.undecided
    }

    /// Sets the permission of an app.
    ///
    /// - Throws: `FileError` if the file cannot be written; `DeviceError.Code.tooManyDecisions` beyond the limits.
    package func setPermission(_ permission: Permission, of app: String) throws {
        try change(app) { $0.permission = permission }
    }

    /// Grants an app the use of an alias's key, and broadcasts the change to the app.
    ///
    /// - Throws: `FileError` if the file cannot be written; `DeviceError.Code.tooManyDecisions` beyond the limits.
    package func grant(_ alias: String, to app: String, at time: Date) throws {
        let isNew = try change(app) { access in
            guard !access.mayUse(alias) else { return false }
            access.keyGrants = (access.keyGrants + [alias]).sorted {
                $0.utf8.lexicographicallyPrecedes($1.utf8)
            }
            return true
        }
        if isNew { try announceAccess(app, of: alias, isAccessible: true, at: time) }
    }

    /// Ends an app's grant for an alias's key, and broadcasts the change to the app.
    ///
    /// - Returns: False if the app had no such grant.
    /// - Throws: `FileError` if the file cannot be written.
    package func revoke(_ alias: String, of app: String, at time: Date) throws(FileError) -> Bool {
        let wasGranted = try apps.change { (apps: inout [String: AppAccess]) throws(FileError) in
            guard let place = apps[app]?.keyGrants.firstIndex(where: { $0.hasSameBytes(as: alias) }) else {
                return false
            }
            apps[app]?.keyGrants.remove(at: place)
            return true
        }
        if wasGranted { try announceAccess(app, of: alias, isAccessible: false, at: time) }
        return wasGranted
    }

    /// Ends all grants for aliases that no longer exist, without a broadcast, as when KeyChain removes a key.
    ///
    /// - Throws: `FileError` if the file cannot be written.
    package func forgetGrants(where isGone: (String) -> Bool) throws(FileError) {
        try apps.change { (apps: inout [String: AppAccess]) throws(FileError) in
            for app in apps.keys { apps[app]?.keyGrants.removeAll(where: isGone) }
        }
    }

    private func announceAccess(
        _ app: String, of alias: String, isAccessible: Bool, at time: Date
    ) throws(FileError) {
        try Broadcasts(device).send(
            .keyAccessChanged, to: app,
            extras: [Broadcasts.aliasExtra: alias, Broadcasts.accessibleExtra: "\(isAccessible)"], at: time)
    }

    private func change<Result>(_ app: String, _ body: (inout AppAccess) -> Result) throws -> Result {
        let outcome = try apps.change { (apps: inout [String: AppAccess]) throws(FileError) -> Result? in
            var changed = apps
            let result = body(&changed[app, default: Self.undecided])
            Self.makeRoom(for: app, in: &changed)
            guard changed.count <= Self.mostApps,
                changed.values.reduce(0, { $0 + $1.keyGrants.count }) <= Self.mostGrants
            else { return nil }
            apps = changed
            return result
        }
        guard let outcome else {
            throw DeviceError(
                .tooManyDecisions, path: apps.path,
                "the device stores at most \(Self.mostGrants) key grants and the permissions of \(Self.mostApps) apps"
            )
        }
        return outcome
    }

    /// Removes apps without decisions. If there are still too many, removes the first other app that has READ_ALIAS and
    /// no key grants. A client can invent any number of such apps, and the user is only asked again about the removed
    /// one. A denial remains, because without it the app could ask again.
    private static func makeRoom(for app: String, in apps: inout [String: AppAccess]) {
        apps = apps.filter { $0.value != undecided }
        guard apps.count > mostApps else { return }
        let others = apps.filter { name, access in
            name != app && access.permission == .granted && access.keyGrants.isEmpty
        }
        if let first = others.keys.min() { apps[first] = nil }
    }
}
