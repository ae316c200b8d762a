internal import DeviceSimulation
package import Foundation
private import GRDB
private import OpenSSL
private import PrivateFiles
package import SimulatedKeychain

/// A channel through a SQLite database in an application group that both apps belong to. The row is sealed with a key
/// in a keychain group that both apps may use. SQLite's locks coordinate the processes.
package struct DatabaseChannel: SharingChannel {
    private static let service = Identifier.databaseChannel

    /// The channel's name, `database`.
    package let name = "database"
    private let ends: ChannelEndpoints

    /// Creates the channel between two apps.
    package init(_ ends: ChannelEndpoints) {
        self.ends = ends
    }

    /// Writes the credential to the database, in place of an earlier one.
    ///
    /// - Throws: `SharingChannelError`: `missingEntitlement`, `locked`, `damaged`, `failed`.
    package func send(_ credential: Credential, now: Date) throws(SharingChannelError) {
        let group = try ends.sharedKeychainGroup()
        try withDatabase(ends.sender) { queue in
            let secret = try Keychain(device: ends.device, app: ends.sender).createOrReadPassword(
                service: Self.service, account: "", accessGroup: group, make: MasterKey.random)
            let sealed = try SealingKey(secret).seal(
                credential.encoded, associatedData: Array(Self.service.utf8))
            try queue.write { database in
                try database.execute(
                    sql: "INSERT OR REPLACE INTO credential VALUES (1, ?)", arguments: [Data(sealed)])
            }
        }
        ends.announce()
    }

    /// Reads the credential from the database.
    ///
    /// - Throws: `SharingChannelError`: `missingEntitlement`, `locked`, `damaged`, `expired`, `failed`.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) throws(SharingChannelError) -> Credential? {
        let group = try ends.sharedKeychainGroup()
        return try withDatabase(app) { queue in
            let row = try queue.read { database in
                try Data.fetchOne(database, sql: "SELECT sealed FROM credential WHERE id = 1")
            }
            guard let row else { return nil }
            let secret = try Keychain(device: ends.device, app: app).password(
                service: Self.service, account: "", accessGroup: group)
            guard let secret,
                let plain = try SealingKey(secret).open(
                    [UInt8](row), associatedData: Array(Self.service.utf8))
            else { throw SharingChannelError(.damaged, "the row was altered, or its key was deleted") }
            return try Credential(plain, at: now)
        }
    }

    /// Deletes the credential from the database.
    ///
    /// - Throws: `SharingChannelError`: `missingEntitlement`, `failed`.
    package func remove() throws(SharingChannelError) {
        try withDatabase(ends.sender) { queue in
            try queue.write { try $0.execute(sql: "DELETE FROM credential") }
        }
    }

    private func withDatabase<Value>(
        _ app: App, _ body: (DatabaseQueue) throws -> Value
    ) throws(SharingChannelError) -> Value {
        let group = try ends.sharedApplicationGroup()
        return try SharingChannelError.wrapping {
            let folder = try ends.device.groupContainer(group, for: app)
            let path = folder + "/credential.sqlite"
            // SQLite's busy timeout does not cover the creation of a database, so take a lock for it.
            do {
                let queue = try FileLock.withLock(at: folder + "/.credential.lock") {
                    if !FileManager.default.fileExists(atPath: path) { try AtomicFile.write([], to: path) }
                    return try Self.open(path)
                }
                return try body(queue)
            } catch let error as DatabaseError {
                // Use the message and not the description, which could quote a statement's arguments.
                throw SharingChannelError(
                    .failed,
                    "the group's database reported an error: \(error.message ?? "\(error.resultCode)")",
                    cause: error)
            }
        }
    }

    private static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration.hardened(label: "channel", readonly: false)
        configuration.busyMode = .timeout(60)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS credential
                        (id INTEGER PRIMARY KEY CHECK (id = 1), sealed BLOB NOT NULL) STRICT
                    """)
        }
        return queue
    }
}
