internal import SecretMemory
internal import GRDB

/// The part of the device's keychain that one app can see.
///
/// An app sees the items of its access groups. A search without a group covers all of them. Naming a group that the app
/// is not entitled to is an error, and not an empty result. While the device's state makes a secret unavailable, the
/// item's attributes can still be read, and the item can be deleted. Calls return after the data is on disk. Several
/// threads may use a keychain concurrently. Each value holds a connection to the database, so create one and reuse it.
///
/// Linux isolates users, not apps: another program of the device's user can read the files.
package struct Keychain: Sendable {
    /// The app that uses the keychain.
    package let app: App

    let store: KeychainStore
    private let device: any KeychainHost

    /// Opens the keychain of `device` for `app`, and creates it on first use.
    ///
    /// - Throws: `KeychainError`: `.invalidKeychain` if the database or its key is lost or damaged,
    ///   `.incompatibleVersion`, `.readOnly`, `.diskFull`, `.param`; `.io` with a `FileError` as its cause if a file or
    ///   folder is missing or unsafe.
    package init(device: some KeychainHost, app: App) throws(KeychainError) {
        try Self.requireGroups(app)
        do {
            try self.init(app: app, store: KeychainStore(on: device), device: device)
        } catch {
            throw KeychainError(error)
        }
    }

    /// Opens the keychain of `device` without creating, repairing or migrating it; nil if no keychain was ever created.
    ///
    /// - Throws: `KeychainError`: `.invalidKeychain` if the database or its key is lost or damaged,
    ///   `.incompatibleVersion`, `.param`; `.io` with a `FileError` as its cause if a file or folder is unsafe.
    package init?(existingOn device: some KeychainHost, app: App) throws(KeychainError) {
        try Self.requireGroups(app)
        do {
            guard let store = try KeychainStore.existing(on: device, for: .inspection) else { return nil }
            self.init(app: app, store: store, device: device)
        } catch {
            throw KeychainError(error)
        }
    }

    /// Returns the keychain for another app of the device. It shares this value's connection, because opening another
    /// one costs more than reading.
    ///
    /// - Throws: `KeychainError.Code.param`.
    package func seen(by app: App) throws(KeychainError) -> Keychain {
        try Self.requireGroups(app)
        return Keychain(app: app, store: store, device: device)
    }

    private init(app: App, store: KeychainStore, device: any KeychainHost) {
        self.app = app
        self.store = store
        self.device = device
    }

    private static func requireGroups(_ app: App) throws(KeychainError) {
        guard app.accessGroups.allSatisfy(isPossible) else {
            throw KeychainError(.param, "an access group of \(app.bundleIdentifier) contains NUL")
        }
    }

    /// Returns a number that grows whenever any process commits a change to the app's groups, or only to `accessGroup`.
    /// A cache of the keychain's contents is valid while the number is unchanged.
    ///
    /// - Throws: `KeychainError`: `.missingEntitlement`, or a failure of the database.
    package func changeCount(accessGroup: String? = nil) throws(KeychainError) -> Int64 {
        let groups = try searched(accessGroup)
        return try store.readOnce { database in
            let statement = try database.cachedStatement(
                sql: """
                    SELECT coalesce(sum(count), 0) FROM change
                    WHERE accessGroup IN (\(databaseQuestionMarks(count: groups.count)))
                    """)
            return try Int64.fetchOne(statement, arguments: StatementArguments(groups)) ?? 0
        }
    }

    /// Deletes every item of the app's groups, or every item of one class, in any state of the device.
    ///
    /// - Throws: `KeychainError` if the database cannot be written.
    /// - Returns: The number of deleted items.
    @discardableResult
    package func removeAll(_ itemClass: ItemClass? = nil) throws(KeychainError) -> Int {
        try store.write { database in
            let statement = try database.cachedStatement(
                sql: "DELETE FROM item WHERE accessGroup = ? AND (class = ?2 OR ?2 IS NULL)")
            var changed: Set<String> = []
            var count = 0
            for group in app.accessGroups {
                try statement.execute(arguments: [group, itemClass?.rawValue])
                guard database.changesCount > 0 else { continue }
                changed.insert(group)
                count += database.changesCount
            }
            try KeychainRecord.countChange(of: changed, in: database)
            return count
        }
    }
}

extension Keychain {
    /// Returns the groups that a search covers: all of the app's groups, in order, or only the named group.
    func searched(_ accessGroup: String?) throws(KeychainError) -> [String] {
        guard let accessGroup else { return app.accessGroups }
        return [try entitled(accessGroup, among: app.accessGroups)]
    }

    /// Returns the group of a new item: the named group, or the app's default.
    func target(_ accessGroup: String?) throws(KeychainError) -> String {
        let groups = app.writableAccessGroups
        // An app's own identifier is always among its groups.
        return try entitled(accessGroup ?? groups.first ?? app.applicationIdentifier, among: groups)
    }

    private func entitled(
        _ accessGroup: String, among groups: [String]
    ) throws(KeychainError) -> String {
        guard groups.contains(accessGroup) else {
            throw KeychainError(
                .missingEntitlement,
                "\(app.bundleIdentifier) is not entitled to the keychain group \(accessGroup)",
                detail: app.gap(accessGroup: accessGroup).map { .entitlement($0) })
        }
        return accessGroup
    }

    /// Reads the device's state, which decides which secrets are available.
    func deviceState() throws(KeychainError) -> DeviceState {
        do {
            return try device.state()
        } catch {
            throw KeychainError(error)
        }
    }

    /// Throws if the device's state makes a secret unavailable. Call this also before you return a secret that is
    /// cached in memory.
    ///
    /// - Throws: `KeychainError.Code.interactionNotAllowed`; the detail is `.needsPasscode` if unlocking would not
    ///   help.
    package static func check(
        _ accessibility: Accessibility, isAvailableIn state: DeviceState
    ) throws(KeychainError) {
        guard !accessibility.isAvailable(in: state) else { return }
        let needsPasscode = accessibility == .whenPasscodeSetThisDeviceOnly && !state.hasPasscode
        throw KeychainError(
            .interactionNotAllowed, "the device is \(state.phrase), and the item is \(accessibility.name)",
            detail: needsPasscode ? .needsPasscode : nil)
    }

    /// Decrypts the secret of a row, unless `state` makes it unavailable.
    func open(
        _ row: Row, in state: DeviceState
    ) throws -> (record: KeychainRecord, secret: SecretBytes) {
        let record = try KeychainRecord(row: row)
        try Self.check(record.accessibility(), isAvailableIn: state)
        return try KeychainRecord.secret(row, key: store.key)
    }

    /// The maximum size of an attribute and of a secret, in bytes.
    package static let largestAttribute = 1 << 20

    /// Rejects strings with a NUL, which the database would truncate, and attributes of more than 1 MiB.
    static func check(texts: [String], sizes: [Int]) throws(KeychainError) {
        let most = largestAttribute
        guard sizes.allSatisfy({ $0 <= most }), texts.allSatisfy({ $0.utf8.count <= most }) else {
            throw KeychainError(.dataTooLarge, "an attribute of the item has more than \(most) bytes")
        }
        guard texts.allSatisfy(isPossible) else {
            throw KeychainError(.param, "an attribute of the item contains NUL")
        }
    }

    /// Returns whether an item can have the attribute `text`. GRDB binds a string only up to its first NUL, so a search
    /// for a string with a NUL would find other items.
    static func isPossible(_ text: String) -> Bool { !text.utf8.contains(0) }
}
