package import SecretMemory
private import Foundation
internal import GRDB

extension Keychain {
    /// Adds one identity.
    ///
    /// - Throws: `KeychainError`: `.duplicateItem` if the group has an identity with that label;
    ///   `.interactionNotAllowed` if the device's state forbids access to keys of this accessibility;
    ///   `.missingEntitlement`, `.param`, `.dataTooLarge`, or a failure of the database.
    @discardableResult
    package func add(_ identity: NewIdentity) throws(KeychainError) -> IdentityAttributes {
        guard let outcome = try add([.success(identity)]).first else {
            throw KeychainError(.internalError, "adding an identity returned no outcome")
        }
        return try outcome.result.get()
    }

    /// Adds many identities in one transaction.
    ///
    /// An error in place of an identity is passed through. An error that concerns a single identity, such as an invalid
    /// attribute, does not prevent adding the other identities.
    ///
    /// - Returns: An outcome for each element, in the order of `identities`.
    /// - Throws: `KeychainError` if the database fails. In this case no identity is added.
    package func add(_ identities: [Result<NewIdentity, any Error>]) throws(KeychainError) -> [AddOutcome] {
        guard !identities.isEmpty else { return [] }
        let state = try deviceState()
        return try store.write { database in
            let firstID = try KeychainRecord.reserveIDs(identities.count, in: database)
            var changed: Set<String> = []
            var outcomes: [AddOutcome] = []
            outcomes.reserveCapacity(identities.count)
            for (index, identity) in identities.enumerated() {
                let new: NewIdentity
                let record: KeychainRecord
                do {
                    new = try identity.get()
                    try Self.check(new.accessibility, isAvailableIn: state)
                    record = try self.record(new, id: firstID + Int64(index))
                } catch {
                    outcomes.append(.failed(error))
                    continue
                }
                guard try record.insert(new.privateKey, into: database, key: store.key) else {
                    outcomes.append(.duplicate(label: new.label))
                    continue
                }
                changed.insert(record.accessGroup)
                outcomes.append(.added(try IdentityAttributes(record)))
            }
            try KeychainRecord.countChange(of: changed, onlyAdding: true, in: database)
            return outcomes
        }
    }

    /// Returns a page of the identities that the app sees, in the order in which they were added.
    ///
    /// The cost grows with the page, not with the keychain. An empty page marks the end.
    ///
    /// - Parameters:
    ///   - id: The id after which the page begins; 0 for the first page.
    ///   - limit: The maximum number of identities in the page.
    ///   - accessGroup: The access group to search; nil for every group of the app.
    /// - Throws: `KeychainError`: `.missingEntitlement`, or a failure of the database.
    package func identities(
        after id: Int64 = 0, limit: Int = .max, accessGroup: String? = nil
    ) throws(KeychainError) -> [IdentityRecord] {
        try rows(
            after: id, limit: limit, accessGroup: accessGroup,
            columns: IdentityAttributes.columns + ", certificate"
        ) { row in
            IdentityRecord(
                attributes: try IdentityAttributes(row),
                certificate: [UInt8](try KeychainRecord.value(row, 6) as Data))
        }
    }

    /// Returns a page of the attributes of the identities that the app sees, in the order in which they were added.
    /// Certificates are not read, which makes long lists faster.
    ///
    /// - Parameters:
    ///   - id: The id after which the page begins; 0 for the first page.
    ///   - limit: The maximum number of identities in the page.
    ///   - accessGroup: The access group to search; nil for every group of the app.
    /// - Throws: `KeychainError`: `.missingEntitlement`, or a failure of the database.
    package func identityAttributes(
        after id: Int64 = 0, limit: Int = .max, accessGroup: String? = nil
    ) throws(KeychainError) -> [IdentityAttributes] {
        try rows(
            after: id, limit: limit, accessGroup: accessGroup, columns: IdentityAttributes.columns,
            IdentityAttributes.init)
    }

    /// Returns the identities of a group that were added since an earlier reading. Returns all of them if
    /// there was no earlier reading, or if an item was deleted or changed since.
    ///
    /// - Throws: `KeychainError`: `.missingEntitlement`, or a failure of the database.
    package func identityAttributes(
        accessGroup: String, after earlier: IdentityReading?
    ) throws(KeychainError) -> (added: [IdentityAttributes], reading: IdentityReading) {
        let groups = try searched(accessGroup)
        return try store.read { database in
            // A read-only keychain of an earlier version does not count deletions.
            let removals = try store.manifest.map { _ in
                try KeychainRecord.removals(of: groups, in: database)
            }
            var reading = IdentityReading(lastID: 0, removals: removals)
            reading.isContinuation = removals != nil && earlier?.removals == removals
            let last = reading.isContinuation ? earlier?.lastID ?? 0 : 0
            let added = try rows(
                after: last, limit: .max, groups: groups, columns: IdentityAttributes.columns, in: database,
                IdentityAttributes.init)
            reading.lastID = added.last?.id ?? last
            return (added, reading)
        }
    }

    /// Finds the identity with the label `label`, without the private key.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` if the app sees no such identity; `.missingEntitlement`.
    package func identity(
        label: String, accessGroup: String? = nil
    ) throws(KeychainError) -> IdentityRecord {
        try identityRow(label, accessGroup: accessGroup) { row in
            try IdentityRecord(KeychainRecord(row: row))
        }
    }

    /// Finds the identity with the label `label` and decrypts the private key.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` if the app sees no such identity; `.interactionNotAllowed`
    ///   while the device's state makes the key unavailable; `.decode` if any part of the identity was
    ///   altered; `.missingEntitlement`.
    package func openIdentity(
        label: String, accessGroup: String? = nil
    ) throws(KeychainError) -> OpenedIdentity {
        let state = try deviceState()
        return try identityRow(label, accessGroup: accessGroup) { row in
            let (record, secret) = try open(row, in: state)
            return OpenedIdentity(record: try IdentityRecord(record), privateKey: secret)
        }
    }

    /// Decrypts the private key of the identity with the label `label`, PKCS #8.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound`, `.interactionNotAllowed`, `.decode` or
    ///   `.missingEntitlement`.
    package func privateKey(
        label: String, accessGroup: String? = nil
    ) throws(KeychainError) -> SecretBytes {
        try openIdentity(label: label, accessGroup: accessGroup).privateKey
    }
}

extension Keychain {
    private static func notFound(_ label: String) -> KeychainError {
        KeychainError(.itemNotFound, "the keychain contains no identity \(label)")
    }

    private func record(_ identity: NewIdentity, id: Int64) throws(KeychainError) -> KeychainRecord {
        let group = try target(identity.accessGroup)
        try Self.check(
            texts: [identity.label],
            sizes: [identity.certificate.count, identity.privateKey.count, identity.applicationTag.count])
        guard !identity.label.isEmpty, !identity.certificate.isEmpty, !identity.privateKey.isEmpty,
            let notBefore = Int64(exactly: identity.notBefore.timeIntervalSince1970.rounded(.down))
        else {
            throw KeychainError(
                .param, "an identity must have a label, a certificate, a private key and a date")
        }
        return KeychainRecord(
            id: id, itemClass: ItemClass.identity.rawValue, accessGroup: group,
            accessible: identity.accessibility.rawValue, label: identity.label,
            applicationTag: identity.applicationTag, notBefore: notBefore, certificate: identity.certificate)
    }

    private func rows<Value: Identifiable<Int64>>(
        after id: Int64, limit: Int, accessGroup: String?, columns: String, _ make: (Row) throws -> Value
    ) throws(KeychainError) -> [Value] {
        let groups = try searched(accessGroup)
        return try store.read {
            try rows(after: id, limit: max(limit, 0), groups: groups, columns: columns, in: $0, make)
        }
    }

    private func rows<Value: Identifiable<Int64>>(
        after id: Int64, limit: Int, groups: [String], columns: String, in database: Database,
        _ make: (Row) throws -> Value
    ) throws -> [Value] {
        let statement = try database.cachedStatement(
            sql: """
                SELECT \(columns) FROM item INDEXED BY itemByGroup
                WHERE accessGroup = ? AND class = 'idnt' AND id > ? ORDER BY id LIMIT ?
                """)
        // One query for each group: over several groups SQLite would have to sort all identities.
        var values: [Value] = []
        for group in groups {
            let cursor = try Row.fetchCursor(statement, arguments: [group, id, limit])
            while let row = try cursor.next() {
                values.append(try make(row))
            }
        }
        return Array(values.sorted { $0.id < $1.id }.prefix(limit))
    }

    private func identityRow<Value>(
        _ label: String, accessGroup: String?, _ body: (Row) throws -> Value
    ) throws(KeychainError) -> Value {
        let groups = try searched(accessGroup)
        guard Self.isPossible(label) else { throw Self.notFound(label) }
        return try store.read { database in
            let statement = try database.cachedStatement(
                sql: """
                    SELECT \(KeychainRecord.columns), sealed FROM item
                    WHERE class = 'idnt' AND accessGroup = ? AND label = ?
                    """)
            for group in groups {
                if let row = try Row.fetchOne(statement, arguments: [group, label]) { return try body(row) }
            }
            throw Self.notFound(label)
        }
    }
}

extension IdentityAttributes {
    /// The columns that `init(_: Row)` reads, in its order.
    fileprivate static let columns = "id, label, accessGroup, accessible, applicationTag, notBefore"

    fileprivate init(_ row: Row) throws {
        try self.init(
            id: KeychainRecord.value(row, 0), label: KeychainRecord.value(row, 1),
            accessGroup: KeychainRecord.value(row, 2), accessible: KeychainRecord.value(row, 3),
            applicationTag: [UInt8](KeychainRecord.value(row, 4) as Data),
            notBefore: KeychainRecord.value(row, 5))
    }

    fileprivate init(_ record: KeychainRecord) throws(KeychainError) {
        try self.init(
            id: record.id, label: record.label, accessGroup: record.accessGroup,
            accessible: record.accessible, applicationTag: record.applicationTag, notBefore: record.notBefore)
    }

    private init(
        id: Int64, label: String, accessGroup: String, accessible: String, applicationTag: [UInt8],
        notBefore: Int64
    ) throws(KeychainError) {
        self.init(
            id: id, label: label, accessGroup: accessGroup,
            accessibility: try KeychainRecord.accessibility(accessible, id: id),
            applicationTag: applicationTag, notBefore: Date(timeIntervalSince1970: Double(notBefore)))
    }
}

extension IdentityRecord {
    /// Creates the identity from a record of the class `idnt`.
    init(_ record: KeychainRecord) throws(KeychainError) {
        self.init(attributes: try IdentityAttributes(record), certificate: record.certificate)
    }
}
