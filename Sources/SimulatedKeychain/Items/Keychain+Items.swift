internal import SecretMemory
internal import Foundation
internal import GRDB

extension Keychain {
    /// Adds an item (`SecItemAdd`).
    ///
    /// - Throws: `KeychainError`: `.duplicateItem` if the group has an item of that class with equal unique
    ///   attributes; `.interactionNotAllowed` if the device's state forbids access to secrets of the item's
    ///   accessibility; `.missingEntitlement`, `.param`, `.dataTooLarge`, or a failure of the database.
    /// - Returns: The new item's reference.
    @discardableResult
    package func add(_ item: NewItem) throws(KeychainError) -> Int64 {
        try Self.check(item.accessibility, isAvailableIn: try deviceState())
        let record = try record(item)
        return try store.write { database in
            var record = record
            record.id = try KeychainRecord.reserveIDs(1, in: database)
            try insert(record, item.secret, in: database)
            try KeychainRecord.countChange(of: [record.accessGroup], onlyAdding: true, in: database)
            return record.id
        }
    }

    /// Adds certificates and keys in one transaction; replaces items with equal unique attributes.
    ///
    /// - Throws: `KeychainError`, like `add(_:)` except `.duplicateItem`, and `.param` for an item of another
    ///   class. In this case no item is changed.
    package func replace(_ items: [NewItem]) throws(KeychainError) {
        let state = try deviceState()
        var records: [KeychainRecord] = []
        for item in items {
            try Self.check(item.accessibility, isAvailableIn: state)
            guard item.itemClass == .certificate || item.itemClass == .key else {
                throw KeychainError(.param, "only certificates and keys can be replaced")
            }
            records.append(try record(item))
        }
        try store.write { database in
            let firstID = try KeychainRecord.reserveIDs(items.count, in: database)
            for index in items.indices {
                var record = records[index]
                record.id = firstID + Int64(index)
                let tag = items[index].itemClass == .key ? record.applicationTag : nil
                let former = KeychainQuery(items[index].itemClass, label: record.label, applicationTag: tag)
                var ids: [Int64] = []
                try forEach(former, groups: [record.accessGroup], in: database) { row in
                    ids.append(try KeychainRecord.value(row, 0))
                }
                for id in ids { try delete(id: id, in: database) }
                try insert(record, items[index].secret, in: database)
            }
            try KeychainRecord.countChange(of: Set(records.map(\.accessGroup)), in: database)
        }
    }

    /// Finds the items that match `query` (`SecItemCopyMatching`). They are sorted by group, in the order of the app's
    /// groups, and within a group in the order in which they were added.
    ///
    /// - Parameters:
    ///   - query: The attributes that an item must have.
    ///   - limit: The maximum number of items.
    ///   - returnsData: Whether the secrets are also decrypted. If false, altered attributes are not detected.
    /// - Throws: `KeychainError`: `.itemNotFound` if no item matches; with `returnsData`,
    ///   `.interactionNotAllowed` while the device's state makes a secret unavailable, and `.decode` if an
    ///   item was altered; `.missingEntitlement`.
    package func copyMatching(
        _ query: KeychainQuery, limit: Int = 1, returnsData: Bool = false
    ) throws(KeychainError) -> [KeychainItem] {
        let items = try copyMatching(each: [query], limit: limit, returnsData: returnsData)[0]
        guard !items.isEmpty else { throw Self.nothingFound(query) }
        return items
    }

    /// Finds the items of several queries in one transaction, so that changes by other processes are visible to all of
    /// the queries or to none.
    ///
    /// - Returns: The items for each query, as `copyMatching(_:limit:returnsData:)`, or an empty array for a query that
    ///   no item matches.
    /// - Throws: `KeychainError`, like `copyMatching(_:limit:returnsData:)` except `.itemNotFound`.
    package func copyMatching(
        each queries: [KeychainQuery], limit: Int = .max, returnsData: Bool = false
    ) throws(KeychainError) -> [[KeychainItem]] {
        var groups: [[String]] = []
        for query in queries { groups.append(try searched(query.accessGroup)) }
        let state = try deviceState()
        return try store.read { database in
            try zip(queries, groups).map { query, groups in
                var items: [KeychainItem] = []
                try forEach(query, groups: groups, limit: limit, in: database) { row in
                    let record: KeychainRecord
                    var data: SecretBytes?
                    if returnsData {
                        (record, data) = try open(row, in: state)
                    } else {
                        record = try KeychainRecord(row: row)
                    }
                    items.append(try KeychainItem(record, data: data))
                }
                return items
            }
        }
    }

    /// Changes every item that matches `query`, or no item if one cannot be changed (`SecItemUpdate`).
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` if no item matches; `.duplicateItem` if an item would get
    ///   the unique attributes of another; `.interactionNotAllowed` while the device's state makes a secret
    ///   unavailable under the old or the new accessibility; `.missingEntitlement` for another app's group;
    ///   `.decode`.
    /// - Returns: The number of changed items.
    @discardableResult
    package func update(
        _ query: KeychainQuery, _ change: KeychainChange
    ) throws(KeychainError) -> Int {
        try update(each: [(query, change)])[0]
    }

    /// Makes several changes in one transaction, in order. If one of them fails, no item is changed.
    ///
    /// - Parameters:
    ///   - changes: Queries, and the change to the items that match each of them.
    ///   - beforeCommit: Runs after the last change. If it throws, no item is changed.
    /// - Throws: `KeychainError`, like `update(_:_:)`; an error of `beforeCommit`, translated: a `FileError` is the
    ///   cause of `.io`.
    /// - Returns: The number of changed items for each query.
    @discardableResult
    package func update(
        each changes: [(query: KeychainQuery, change: KeychainChange)], beforeCommit: () throws -> Void = {}
    ) throws(KeychainError) -> [Int] {
        var prepared: [PreparedChange] = []
        for (query, change) in changes {
            let groups = try searched(query.accessGroup)
            let newGroup: String? = if let group = change.accessGroup { try target(group) } else { nil }
            prepared.append(
                PreparedChange(query: query, change: change, groups: groups, newGroup: newGroup))
        }
        let state = try deviceState()
        return try store.write { database in
            var counts: [Int] = []
            var touched: Set<String> = []
            for change in prepared {
                counts.append(try apply(change, in: state, database, touching: &touched))
            }
            try KeychainRecord.countChange(of: touched, in: database)
            try beforeCommit()
            return counts
        }
    }

    /// A change whose access groups the app may use.
    private struct PreparedChange {
        let query: KeychainQuery
        let change: KeychainChange
        let groups: [String]
        let newGroup: String?
    }

    /// Changes the items that match a query, and adds their groups to `touched`.
    ///
    /// - Returns: The number of changed items.
    private func apply(
        _ prepared: PreparedChange, in state: DeviceState, _ database: Database,
        touching touched: inout Set<String>
    ) throws -> Int {
        let change = prepared.change
        var changed: [(KeychainRecord, SecretBytes)] = []
        try forEach(prepared.query, groups: prepared.groups, in: database) { row in
            let (old, secret) = try open(row, in: state)
            let new = change.applied(to: old, accessGroup: prepared.newGroup)
            try Self.check(new.accessibility(), isAvailableIn: state)
            try Self.check(new, secret: change.data ?? secret)
            touched.formUnion([old.accessGroup, new.accessGroup])
            changed.append((new, change.data ?? secret))
        }
        guard !changed.isEmpty else { throw Self.nothingFound(prepared.query) }
        // All items are deleted before any is inserted again, so that two items can swap unique attributes.
        for (record, _) in changed { try delete(id: record.id, in: database) }
        for (var record, secret) in changed {
            // A new secret gets a new id, so that an id never refers to two secrets.
            if change.data != nil { record.id = try KeychainRecord.reserveIDs(1, in: database) }
            try insert(record, secret, in: database)
        }
        return changed.count
    }

    /// Deletes every item that matches `query`, in any state of the device (`SecItemDelete`).
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` if no item matches; `.missingEntitlement`.
    /// - Returns: The number of deleted items.
    @discardableResult
    package func delete(_ query: KeychainQuery) throws(KeychainError) -> Int {
        let counts = try delete(each: [query])
        guard let count = counts.first, count > 0 else { throw Self.nothingFound(query) }
        return count
    }

    /// Deletes the items of several queries in one transaction, in any state of the device.
    ///
    /// - Throws: `KeychainError`: `.missingEntitlement`, or a failure of the database, and then no item is
    ///   deleted.
    /// - Returns: The number of deleted items for each query.
    package func delete(each queries: [KeychainQuery]) throws(KeychainError) -> [Int] {
        var groups: [[String]] = []
        for query in queries { groups.append(try searched(query.accessGroup)) }
        return try store.write { database in
            var counts: [Int] = []
            var changed: Set<String> = []
            for (query, groups) in zip(queries, groups) {
                var found: [(id: Int64, group: String)] = []
                try forEach(query, groups: groups, in: database) { row in
                    found.append((try KeychainRecord.value(row, 0), try KeychainRecord.value(row, 3)))
                }
                for item in found { try delete(id: item.id, in: database) }
                counts.append(found.count)
                changed.formUnion(found.map(\.group))
            }
            try KeychainRecord.countChange(of: changed, in: database)
            return counts
        }
    }
}

extension Keychain {
    private static func nothingFound(_ query: KeychainQuery) -> KeychainError {
        KeychainError(
            .itemNotFound,
            "the keychain contains no item of class \(query.itemClass.rawValue) that matches the query")
    }

    /// The record of a new item, which has no id yet.
    private func record(_ item: NewItem) throws(KeychainError) -> KeychainRecord {
        let record = KeychainRecord(
            id: 0, itemClass: item.itemClass.rawValue, accessGroup: try target(item.accessGroup),
            accessible: item.accessibility.rawValue, label: item.attributes.label,
            service: item.attributes.service, account: item.attributes.account,
            applicationTag: item.attributes.applicationTag, certificate: item.certificate)
        try Self.check(record, secret: item.secret)
        return record
    }

    private static func check(_ record: KeychainRecord, secret: SecretBytes) throws(KeychainError) {
        try check(
            texts: [record.label, record.service, record.account],
            sizes: [record.certificate.count, record.applicationTag.count, secret.count])
    }

    private func insert(_ record: KeychainRecord, _ secret: SecretBytes, in database: Database) throws {
        guard try record.insert(secret, into: database, key: store.key) else {
            throw KeychainError(
                .duplicateItem, "the keychain already contains an item with these unique attributes")
        }
    }

    private func delete(id: Int64, in database: Database) throws {
        try database.cachedStatement(sql: "DELETE FROM item WHERE id = ?").execute(arguments: [id])
    }

    private func forEach(
        _ query: KeychainQuery, groups: [String], limit: Int = .max, in database: Database,
        _ body: (Row) throws -> Void
    ) throws {
        var conditions = "accessGroup = ? AND class = '\(query.itemClass.rawValue)'"
        var arguments: [any DatabaseValueConvertible] = []
        for (column, text) in [
            ("label", query.label), ("service", query.service), ("account", query.account),
            ("accessible", query.accessibility?.rawValue),
        ] {
            guard let text else { continue }
            guard Self.isPossible(text) else { return }
            conditions += " AND \(column) = ?"
            arguments.append(text)
        }
        if let tag = query.applicationTag {
            conditions += " AND applicationTag = ?"
            arguments.append(Data(tag))
        }
        if let reference = query.reference {
            conditions += " AND id = ?"
            arguments.append(reference)
        }
        // The class is part of the statement's text, because SQLite uses a partial index only for a literal condition.
        let statement = try database.cachedStatement(
            sql: "SELECT \(KeychainRecord.columns), sealed FROM item WHERE \(conditions) ORDER BY id LIMIT ?")
        var rest = max(limit, 0)
        for group in groups {
            let cursor = try Row.fetchCursor(
                statement, arguments: StatementArguments([group] + arguments + [rest]))
            while let row = try cursor.next() {
                try body(row)
                rest -= 1
            }
        }
    }
}

extension KeychainItem {
    fileprivate init(_ record: KeychainRecord, data: SecretBytes?) throws(KeychainError) {
        guard let itemClass = ItemClass(rawValue: record.itemClass) else {
            throw KeychainError(.decode, "item \(record.id) of the keychain has an unknown class")
        }
        self.init(
            reference: record.id, itemClass: itemClass,
            attributes: KeychainAttributes(
                label: record.label, service: record.service, account: record.account,
                applicationTag: record.applicationTag),
            accessibility: try record.accessibility(), accessGroup: record.accessGroup,
            certificate: record.certificate, data: data)
    }
}

extension KeychainChange {
    fileprivate func applied(to old: KeychainRecord, accessGroup: String?) -> KeychainRecord {
        var record = old
        record.label = label ?? record.label
        record.service = service ?? record.service
        record.account = account ?? record.account
        record.applicationTag = applicationTag ?? record.applicationTag
        record.accessible = accessibility?.rawValue ?? record.accessible
        record.accessGroup = accessGroup ?? record.accessGroup
        return record
    }
}
