package import SecretMemory
internal import GRDB

extension Keychain {
    /// Reads the password of `account` at `service`; nil if the app sees no such password. If several groups contain
    /// one, returns that of the first group.
    ///
    /// - Throws: `KeychainError`: `.interactionNotAllowed` while the device's state makes the password unavailable;
    ///   `.decode` if the item was altered; `.missingEntitlement`.
    package func password(
        service: String, account: String, accessGroup: String? = nil
    ) throws(KeychainError) -> SecretBytes? {
        let groups = try searched(accessGroup)
        let state = try deviceState()
        return try store.read { database in
            try password(service: service, account: account, groups: groups, state: state, in: database)
        }
    }

    /// Stores the password of `account` at `service`, or replaces it in the group.
    ///
    /// - Throws: `KeychainError`: `.interactionNotAllowed` if the device's state forbids access to secrets of this
    ///   accessibility; `.missingEntitlement`, `.param`, `.dataTooLarge`, or a failure of the database.
    package func setPassword(
        _ password: SecretBytes, service: String, account: String,
        accessibility: Accessibility = .afterFirstUnlockThisDeviceOnly, accessGroup: String? = nil
    ) throws(KeychainError) {
        let group = try target(accessGroup)
        try Self.check(accessibility, isAvailableIn: try deviceState())
        try store.write { database in
            // A new row is inserted instead of updating the old one, so that an id never refers to two secrets.
            _ = try deletePassword(service: service, account: account, group: group, in: database)
            try insert(
                password, service: service, account: account, accessibility: accessibility, group: group,
                in: database)
        }
    }

    /// Deletes the password of `account` at `service` in every group that the search covers. Does nothing if no such
    /// password exists.
    ///
    /// - Throws: `KeychainError`: `.missingEntitlement`, or a failure of the database.
    package func deletePassword(
        service: String, account: String, accessGroup: String? = nil
    ) throws(KeychainError) {
        let groups = try searched(accessGroup)
        try store.write { database in
            let changed = try groups.filter { group in
                try deletePassword(service: service, account: account, group: group, in: database)
            }
            try KeychainRecord.countChange(of: Set(changed), in: database)
        }
    }

    /// Reads the password of `account` at `service`, or creates and stores it if it does not exist. If callers in
    /// several processes or threads do this concurrently, one of them creates the password and all of them get it.
    ///
    /// - Parameters:
    ///   - service: The name of the service.
    ///   - account: The name of the account.
    ///   - accessibility: When a new password can be read.
    ///   - accessGroup: The access group of the password; nil for the app's own.
    ///   - make: Creates the password.
    /// - Throws: `KeychainError`: `.internalError`, with the error of `make` as the cause;
    ///   `.interactionNotAllowed`, `.decode`, `.missingEntitlement`, or a failure of the database.
    package func createOrReadPassword(
        service: String, account: String, accessibility: Accessibility = .afterFirstUnlockThisDeviceOnly,
        accessGroup: String? = nil, make: () throws -> SecretBytes
    ) throws(KeychainError) -> SecretBytes {
        let groups = try searched(accessGroup)
        let group = try target(accessGroup)
        // Reading is tried first, because a read does not wait for writers.
        if let password = try password(service: service, account: account, accessGroup: accessGroup) {
            return password
        }
        let state = try deviceState()
        try Self.check(accessibility, isAvailableIn: state)
        return try store.write { database in
            if let made = try password(
                service: service, account: account, groups: groups, state: state, in: database)
            {
                return made
            }
            let password = try make()
            try insert(
                password, service: service, account: account, accessibility: accessibility, group: group,
                in: database)
            return password
        }
    }
}

extension Keychain {
    private func password(
        service: String, account: String, groups: [String], state: DeviceState, in database: Database
    ) throws -> SecretBytes? {
        guard Self.isPossible(service), Self.isPossible(account) else { return nil }
        let statement = try database.cachedStatement(
            sql: """
                SELECT \(KeychainRecord.columns), sealed FROM item
                WHERE class = 'genp' AND accessGroup = ? AND service = ? AND account = ?
                """)
        for group in groups {
            if let row = try Row.fetchOne(statement, arguments: [group, service, account]) {
                return try open(row, in: state).secret
            }
        }
        return nil
    }

    private func deletePassword(
        service: String, account: String, group: String, in database: Database
    ) throws -> Bool {
        guard Self.isPossible(service), Self.isPossible(account) else { return false }
        let statement = try database.cachedStatement(
            sql: "DELETE FROM item WHERE class = 'genp' AND accessGroup = ? AND service = ? AND account = ?")
        try statement.execute(arguments: [group, service, account])
        return database.changesCount > 0
    }

    private func insert(
        _ password: SecretBytes, service: String, account: String, accessibility: Accessibility,
        group: String, in database: Database
    ) throws {
        try Self.check(texts: [service, account], sizes: [password.count])
        let record = KeychainRecord(
            id: try KeychainRecord.reserveIDs(1, in: database), itemClass: ItemClass.genericPassword.rawValue,
            accessGroup: group, accessible: accessibility.rawValue, service: service, account: account)
        guard try record.insert(password, into: database, key: store.key) else {
            throw KeychainError(.duplicateItem, "the keychain already contains this password")
        }
        try KeychainRecord.countChange(of: [group], in: database)
    }
}
