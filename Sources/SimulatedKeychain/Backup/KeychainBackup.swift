internal import PrivateFiles
internal import SecretMemory
internal import Foundation
internal import GRDB
private import Glibc
internal import OpenSSL

/// A backup of a keychain: a database file with the keychain's items and the key that encrypts them. The key itself is
/// also encrypted.
struct KeychainBackup {
    let queue: DatabaseQueue
    private let path: String
    private let master: SealingKey
    private let key: SealingKey
    /// Whether the backup was made on the device that `master` belongs to.
    let isOwn: Bool

    /// The application id in the database's header, "KSBK" (sqlite.org/fileformat.html, section 1.3.17).
    private static let applicationID = 0x4B53_424B
    private static let version = 2
    /// The associated data with which the backup's key is encrypted under the master key.
    private static let keyContext = Array("keyshare keychain backup 1".utf8)

    /// The SQL statements that create the tables of a backup.
    private static let schema = """
        \(KeychainRecord.schema)
        \(KeychainRecord.schemaOfMoreClasses)
        CREATE TABLE backup (sealed BLOB NOT NULL, proof BLOB NOT NULL, whole BLOB NOT NULL) STRICT;
        """

    /// The tables and indexes of a backup, each with the SQL statement that creates it.
    private static func objects() throws -> [String: String] {
        let model = try DatabaseQueue()
        try model.inDatabase { try $0.execute(sql: schema) }
        return try model.read(KeychainSchema.objects)
    }

    /// Returns the associated data that authenticates the backup as a whole: a hash of every item's encrypted
    /// secret in order. Each encrypted secret is bound to its item, so a missing, additional or foreign item
    /// is detected.
    private static func contents(_ database: Database) throws -> [UInt8] {
        var bytes = Array("keyshare keychain backup 2 contents".utf8)
        let seals = try Data.fetchCursor(database, sql: "SELECT sealed FROM item ORDER BY id")
        while let seal = try seals.next() { bytes += Digest.sha256(seal) }
        return Digest.sha256(bytes)
    }

    /// Opens the backup at `path` for reading.
    ///
    /// - Parameters:
    ///   - master: The master key of the target device.
    ///   - key: The backup's own key; nil if the master key opens it.
    /// - Throws: `DeviceError`: `.noBackup`, `.foreignBackup` or `.wrongBackupKey`;
    ///   `FileError.Code.inputOutput` if the file cannot be read.
    init(_ path: String, master: SealingKey, key given: SecretBytes?) throws {
        func isNoBackup(_ reason: String) -> DeviceError { Self.noBackup(path, reason) }
        // Distinguishes a missing file from a damaged one. Opening a FIFO would wait for a writer.
        var status = stat()
        guard unsafe stat(path, &status) == 0, unsafe access(path, R_OK) == 0 else {
            throw FileError.inputOutput("cannot read", path, errno: errno)
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw isNoBackup("it is not a regular file") }
        do {
            // A backup has no journal or log. A file of that name may be another user's, and a pipe would never end.
            queue = try DatabaseQueue(
                path: KeychainFiles.immutableName(path), configuration: .foreign(label: "backup", path: path))
            try queue.read { database in
                guard try Int.fetchOne(database, sql: "PRAGMA application_id") == Self.applicationID else {
                    throw isNoBackup("its application id is not a backup's")
                }
                guard try Int.fetchOne(database, sql: "PRAGMA user_version") == Self.version else {
                    throw isNoBackup("its version is not supported")
                }
                // This is checked before any row is read: reading a view instead of a table would run its author's
                // code.
                if let object = try KeychainSchema.foreignObject(database, isWriting: true) {
                    throw isNoBackup("it contains the unexpected \(object)")
                }
                let differences = try KeychainSchema.differences(
                    KeychainSchema.objects(database), from: Self.objects())
                if let difference = differences.first { throw isNoBackup(difference) }
                guard try String.fetchOne(database, sql: "PRAGMA quick_check(1)") == "ok" else {
                    throw isNoBackup("it is damaged")
                }
            }
            let facts = try queue.read { database in
                guard let row = try Row.fetchOne(database, sql: "SELECT sealed, proof, whole FROM backup"),
                    let sealed = Data.fromDatabaseValue(row[0]), let proof = Data.fromDatabaseValue(row[1]),
                    let whole = Data.fromDatabaseValue(row[2])
                else { throw isNoBackup("it is damaged") }
                return (sealed: [UInt8](sealed), proof: [UInt8](proof), whole: [UInt8](whole))
            }
            let own = master.open(facts.sealed, associatedData: Self.keyContext)
            isOwn = own != nil
            guard let key = given ?? own else {
                throw DeviceError(
                    .foreignBackup, path: path, "the backup belongs to another device")
            }
            guard key.count == SealingKey.byteCount,
                case let sealing = try SealingKey(key),
                sealing.open(facts.proof, associatedData: Self.keyContext) != nil
            else { throw DeviceError(.wrongBackupKey, path: path, "the key does not belong to this backup") }
            // The items are read only after the key has been checked.
            let contents = try queue.read(Self.contents)
            guard sealing.open(facts.whole, associatedData: contents) != nil else {
                throw isNoBackup(Self.alteration)
            }
            (self.path, self.key, self.master) = (path, sealing, master)
        } catch let error as DatabaseError {
            throw isNoBackup(error.message ?? "error \(error.resultCode.rawValue)")
        }
    }

    private static let alteration = "items are missing or altered"

    private static func noBackup(_ path: String, _ reason: String) -> DeviceError {
        DeviceError(.noBackup, path: path, "\(path) is not a keychain backup: \(reason)")
    }

    /// Decrypts the item of a row. Returns nil for an item that is bound to another device.
    ///
    /// - Throws: `DeviceError.Code.noBackup` for an item that was altered.
    func open(_ row: Row) throws -> (record: KeychainRecord, secret: SecretBytes)? {
        do {
            let record = try KeychainRecord(row: row)
            guard try record.accessibility().isThisDeviceOnly else {
                return try KeychainRecord.secret(row, key: key)
            }
            return isOwn ? try KeychainRecord.secret(row, key: master) : nil
        } catch let error as KeychainError where error.code == .decode {
            throw Self.noBackup(path, Self.alteration)
        }
    }

    /// Checks that a certificate item can be decoded. Otherwise, its app could not read its other certificates either.
    ///
    /// - Throws: `DeviceError.Code.noBackup` if OpenSSL rejects the certificate.
    func requireCertificate(_ record: KeychainRecord) throws(DeviceError) {
        do throws(CertificateError) {
            _ = try Certificate(der: record.certificate)
        } catch {
            throw Self.noBackup(path, "it contains an invalid certificate: \(error.reason)")
        }
    }

    /// Writes the items of `rows` to a new file at `path`.
    ///
    /// - Returns: The number of items.
    static func write(
        _ rows: RowCursor, of store: KeychainStore, key: SecretBytes, to path: String
    ) throws -> Int {
        var configuration = Configuration.hardened(label: "backup", readonly: false)
        configuration.prepareDatabase { database in
            // An interrupted backup leaves no file, so no transaction is ever rolled back. The caller synchronizes
            // the file to disk.
            try database.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        let sealing = try SealingKey(key)
        let count = try queue.inDatabase { database in
            try database.execute(
                sql: """
                    PRAGMA application_id = \(applicationID);
                    PRAGMA user_version = \(version);
                    \(schema)
                    """)
            var count = 0
            try database.inTransaction {
                while let row = try rows.next() {
                    let (record, secret) = try KeychainRecord.secret(row, key: store.key)
                    let isThisDeviceOnly = try record.accessibility().isThisDeviceOnly
                    guard
                        try record.insert(
                            secret, into: database, key: isThisDeviceOnly ? store.key : sealing)
                    else { throw KeychainError(.internalError, "the keychain contains an item twice") }
                    count += 1
                }
                let sealed = try store.key.seal(key, associatedData: keyContext)
                let proof = try sealing.seal(SecretBytes([]), associatedData: keyContext)
                let whole = try sealing.seal(SecretBytes([]), associatedData: contents(database))
                try database.execute(
                    sql: "INSERT INTO backup VALUES (?, ?, ?)",
                    arguments: [Data(sealed), Data(proof), Data(whole)])
                return .commit
            }
            return count
        }
        try queue.close()
        return count
    }
}
