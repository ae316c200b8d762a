import Foundation
import GRDB
import Glibc
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("A keychain with missing parts", .timeLimit(.minutes(10)))
struct KeychainLossTests {
    private let scratch: ScratchFolder
    private let device: Device
    private var folder: String { device.folder + "/keychain" }
    private var database: String { folder + "/keychain.sqlite" }

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
    }

    private func provider() throws -> Keychain { try Keychain(device: device, app: .provider) }

    private func existing() throws -> Keychain? { try Keychain(existingOn: device, app: .provider) }

    private func execute(_ sql: String) throws {
        let queue = try DatabaseQueue(path: database)
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }

    /// Names, sizes and modes of all files on the device.
    private func files() throws -> [String: [Int]] {
        let names = FileManager.default.enumerator(atPath: device.folder)?.compactMap { $0 as? String } ?? []
        return try names.reduce(into: ["": [try scratch.mode(device.folder)]]) { files, name in
            let path = device.folder + "/" + name
            files[name] = [try scratch.mode(path), FileManager.default.contents(atPath: path)?.count ?? -1]
        }
    }

    @Test("The database of another device is not opened without its key, even if it is empty")
    func foreignDatabase() throws {
        _ = try provider()
        try FileManager.default.removeItem(atPath: folder + "/master.key")
        #expect(try KeychainStore.existing(on: device, for: .inspection) == nil)
        let error = #expect(throws: KeychainError.self) {
            try KeychainStore.existing(on: device, for: .foreignReading)
        }
        #expect(error?.code == .invalidKeychain)
    }

    @Test(
        "A keychain with a missing or empty database is not created again",
        arguments: [true, false])
    func noDatabase(isEmpty: Bool) throws {
        try provider().add(.sample("A"))
        for name in try scratch.names(folder) where name.hasPrefix("keychain.sqlite") {
            try FileManager.default.removeItem(atPath: folder + "/" + name)
        }
        if isEmpty { try AtomicFile.write([], to: database) }
        let before = try files()
        #expect(throws: KeychainError(.invalidKeychain, "")) { try provider() }
        #expect(throws: KeychainError(.invalidKeychain, "")) { try existing() }
        #expect(try files() == before)
    }

    @Test(
        "A keychain without its tables or its migration record is not created again",
        arguments: [["DROP TABLE grdb_migrations"], ["DELETE FROM grdb_migrations"]])
    func noTables(statements: [String]) throws {
        try provider().add(.sample("A"))
        for statement in statements { try execute(statement) }
        #expect(throws: KeychainError(.invalidKeychain, "")) { try provider() }
        #expect(throws: KeychainError(.invalidKeychain, "")) { try existing() }
        #expect(
            try DatabaseQueue(path: database).read { try Row.fetchAll($0, sql: "SELECT * FROM item").count }
                == 1)
    }

    @Test(
        "A keychain opens if it was never used or if its creation was interrupted at any step"
    )
    func firstOpening() throws {
        // The key is created last: all other files exist.
        _ = try provider()
        try FileManager.default.removeItem(atPath: folder + "/master.key")
        #expect(try existing()?.app == nil)
        try provider().add(.sample("A"))
        // No file, an empty file, a database without tables.
        for contents in [nil, "", "PRAGMA user_version = 0; PRAGMA journal_mode = WAL;"] {
            let other = try Device(folder: scratch.path("other-\(contents?.count ?? -1)"))
            if let contents {
                let path = try other.keychainFolder() + "/keychain.sqlite"
                try AtomicFile.write([], to: path)
                let queue = try DatabaseQueue(path: path)
                try queue.writeWithoutTransaction { try $0.execute(sql: contents) }
                try queue.close()
            }
            #expect(try Keychain(existingOn: other, app: .provider)?.app == nil)
            try Keychain(device: other, app: .provider).add(.sample("A"))
            #expect(try Keychain(existingOn: other, app: .provider)?.identities().map(\.label) == ["A"])
        }
    }

    @Test("Checking a keychain creates no file and changes no permissions")
    func look() throws {
        #expect(try existing()?.app == nil)
        #expect(try files().keys.sorted() == [""])
        #expect(try Device(existing: scratch.path("none")) == nil)
        #expect(throws: FileError(.notAFolder, path: "", "")) {
            try AtomicFile.write([], to: scratch.path("file"))
            return try Device(existing: scratch.path("file"))
        }
        try provider().add(.sample("A"))
        _ = try Pasteboard(device: device)
        #expect(device.problems().isEmpty)
        try #require(unsafe chmod(device.folder, 0o755) == 0 && chmod(folder, 0o777) == 0)
        try FileManager.default.removeItem(atPath: folder + "/opening.lock")
        try AtomicFile.write([1, 2, 3], to: device.folder + "/pasteboard/master.key")
        try AtomicFile.write([1, 2, 3], to: device.folder + "/state")
        let before = try files()
        let looked = try #require(try Device(existing: device.folder))
        #expect(try Keychain(existingOn: looked, app: .provider)?.verifyIntegrity().isEmpty == true)
        let problems = looked.problems()
        #expect(problems.count == 4)
        #expect(problems[0].hasSuffix("mode is 755") && problems[1].hasSuffix("mode is 777"))
        #expect(try files() == before)
    }

    @Test("Files of the device that other users may read are problems")
    func openFiles() throws {
        try DevicePasscode(device).set(SecretBytes(utf8: "4711"))
        #expect(device.problems().isEmpty)
        for mode: mode_t in [0o666, 0o640, 0o604] {
            try #require(unsafe chmod(device.folder + "/passcode", mode) == 0)
            let words = "other users have access to \(device.folder)/passcode: its mode is "
            #expect(device.problems() == [words + String(mode, radix: 8)])
        }
        #expect(throws: FileError(.exposedFile, path: "", "")) {
            try DevicePasscode(device).check(SecretBytes(utf8: "4711"))
        }
    }

    @Test(
        "A part that is removed from or added to the database is detected and causes no internal error",
        arguments: [
            "DROP TABLE sequence", "DELETE FROM sequence", "UPDATE sequence SET last = 1",
            "DROP TABLE change",
            "DROP INDEX identityKey", "DROP INDEX itemByGroup",
            "DROP INDEX identityKey; CREATE INDEX identityKey ON item (label)",
            "CREATE TRIGGER t AFTER INSERT ON item BEGIN DELETE FROM item; END",
            "CREATE TABLE other (a)", "CREATE VIEW v AS SELECT * FROM item",
            "DELETE FROM grdb_migrations WHERE identifier LIKE '2%'", "ALTER TABLE item ADD COLUMN more TEXT",
        ])
    func schema(change: String) throws {
        let keychain = try provider()
        try keychain.add([.sample("A"), .sample("B")]).forEach { _ = try $0.get() }
        #expect(try keychain.quickCheck().isEmpty)
        try execute(change)
        #expect(try existing()?.quickCheck().isEmpty == false)
        #expect(try existing()?.verifyIntegrity().isEmpty == false)
        do throws(KeychainError) {
            let keychain = try Keychain(device: device, app: .provider)
            try keychain.add(.sample("C"))
            _ = try keychain.changeCount()
        } catch {
            // An id that is already in use looks like an existing item.
            #expect(error.code == (change.hasPrefix("UPDATE") ? .duplicateItem : .invalidKeychain))
        }
    }

    @Test("An index that hides an item is detected even if every item can be decrypted")
    func indexes() throws {
        let keychain = try provider()
        try keychain.add([.sample("A"), .sample("B")]).forEach { _ = try $0.get() }
        // SQLite fills an index by its definition, and the definition is replaced without its knowledge.
        try execute(
            """
            DROP INDEX itemByGroup; CREATE INDEX itemByGroup ON item (accessGroup, class) WHERE label <> 'A';
            PRAGMA writable_schema = ON;
            UPDATE sqlite_master SET sql = 'CREATE INDEX itemByGroup ON item (accessGroup, class)'
            WHERE name = 'itemByGroup'
            """)
        #expect(try existing()?.identities().map(\.label) == ["B"])
        #expect(try existing()?.verifyIntegrity().isEmpty == false)
    }

    @Test("An unreadable migration record or an exhausted sequence is reported as a damaged keychain")
    func unreadable() throws {
        try provider().add(.sample("A"))
        for last: Int64 in [-1, (1 << 62) + 1, .max] {
            try execute("UPDATE sequence SET last = \(last)")
            #expect(try existing()?.verifyIntegrity().isEmpty == false)
            #expect(throws: KeychainError(.invalidKeychain, "")) { try provider().add(.sample("B")) }
        }
        try execute(
            """
            DROP TABLE grdb_migrations; CREATE TABLE grdb_migrations (identifier TEXT);
            INSERT INTO grdb_migrations VALUES ('1 items'), (NULL)
            """)
        #expect(throws: KeychainError(.invalidKeychain, "")) { try provider() }
        #expect(throws: KeychainError(.invalidKeychain, "")) { try existing() }
    }

    @Test("A keychain is read completely if its changes are only in the write-ahead log")
    func log() throws {
        let keychain = try provider()
        try keychain.add(.sample("A"))
        #expect(try existing()?.verifyIntegrity().isEmpty == true)
        #expect(try existing()?.identities().map(\.label) == ["A"])
        withExtendedLifetime(keychain) {}
    }
}
