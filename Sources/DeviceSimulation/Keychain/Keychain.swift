internal import SecretMemory
internal import GRDB

/// The keychain of the device, as one app sees it.
///
/// An app sees the items of its own access groups and never another's: a search that names no group covers
/// all of the app's, and naming a group without the entitlement is an error, never an empty answer. Calls
/// block until the disk has what was written. While the device's state keeps a secret closed, what is known
/// of the item besides may still be seen, and the item be deleted. A value that may be used from several
/// threads at once; every value holds a connection to the database, so make one and keep it.
///
/// Plain Linux isolates users, not apps: another program of the same user can read the files.
package struct Keychain: Sendable {
    /// Who looks.
    package let app: App

    let store: KeychainStore
    private let device: Device

    /// Opens the keychain of `device` for `app`, and makes it on first use.
    ///
    /// - Throws: `KeychainError`; its cause is a `DeviceError` where a file or folder is the trouble.
    package init(device: Device, app: App) throws(KeychainError) {
        try self.init(device: device, app: app, newMasterKey: MasterKey.random)
    }

    init(device: Device, app: App, newMasterKey: () -> SecretBytes) throws(KeychainError) {
        try Self.requireGroups(app)
        do {
            try self.init(
                app: app, store: KeychainStore(device: device, newMasterKey: newMasterKey), device: device)
        } catch {
            throw KeychainError(error)
        }
    }

    /// Opens the keychain of `device` for a look at it: nothing is made, mended or brought up to date. Nil where
    /// there never was one.
    ///
    /// - Throws: `KeychainError`; its cause is a `DeviceError` where a file or folder is the trouble.
    package init?(existingOn device: Device, app: App) throws(KeychainError) {
        try Self.requireGroups(app)
        do {
            guard let store = try KeychainStore.existing(device: device) else { return nil }
            self.init(app: app, store: store, device: device)
        } catch {
            throw KeychainError(error)
        }
    }

    private init(app: App, store: KeychainStore, device: Device) {
        self.app = app
        self.store = store
        self.device = device
    }

    private static func requireGroups(_ app: App) throws(KeychainError) {
        guard app.accessGroups.allSatisfy(isPossible) else {
            throw KeychainError(.param, "an access group of \(app.bundleIdentifier) contains NUL")
        }
    }

    /// A number that grows with every committed change of the app's groups, or of `accessGroup` alone, made
    /// by any process.
    ///
    /// Whoever keeps what the keychain holds in memory compares it before use.
    ///
    /// - Throws: `KeychainError`.
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

    /// Deletes every item of the app's groups, or those of one class only.
    ///
    /// - Throws: `KeychainError`.
    /// - Returns: how many there were.
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
    /// The groups that a search covers, in their order.
    func searched(_ accessGroup: String?) throws(KeychainError) -> [String] {
        guard let accessGroup else { return app.accessGroups }
        return [try entitled(accessGroup, among: app.accessGroups)]
    }

    /// The group that a new item goes to.
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

    /// The state that decides which secrets are open.
    func deviceState() throws(KeychainError) -> DeviceState {
        do {
            return try device.state()
        } catch {
            throw KeychainError(error)
        }
    }

    /// Refuses to touch a secret that the device's state keeps closed.
    ///
    /// Whoever keeps a secret of the keychain in memory asks this before handing it on.
    ///
    /// - Throws: `KeychainError`: `.interactionNotAllowed`, with a hint at what opens it.
    package static func check(
        _ accessibility: Accessibility, isAvailableIn state: DeviceState
    ) throws(KeychainError) {
        guard !accessibility.isAvailable(in: state) else { return }
        let needsPasscode = accessibility == .whenPasscodeSetThisDeviceOnly && !state.hasPasscode
        throw KeychainError(
            .interactionNotAllowed, "the device is \(state.words), and the item is \(accessibility.name)",
            detail: needsPasscode ? .needsPasscode : nil)
    }

    /// The record and the secret of a row, unless `state` keeps it closed.
    func open(
        _ row: Row, in state: DeviceState
    ) throws -> (record: KeychainRecord, secret: SecretBytes) {
        let record = try KeychainRecord(row: row)
        try Self.check(record.accessibility(), isAvailableIn: state)
        return try KeychainRecord.secret(row, key: store.key)
    }

    /// Refuses texts that the database would cut short, and anything too large to be meant.
    static func check(texts: [String], sizes: [Int]) throws(KeychainError) {
        let most = 1 << 20
        guard sizes.allSatisfy({ $0 <= most }), texts.allSatisfy({ $0.utf8.count <= most }) else {
            throw KeychainError(.dataTooLarge, "an attribute of the item has more than \(most) bytes")
        }
        guard texts.allSatisfy(isPossible) else {
            throw KeychainError(.param, "an attribute of the item contains NUL")
        }
    }

    /// Whether an item can have the attribute `text`: GRDB binds a text up to its first NUL, so a search for
    /// any other would find what is not asked for.
    static func isPossible(_ text: String) -> Bool { !text.utf8.contains(0) }
}
