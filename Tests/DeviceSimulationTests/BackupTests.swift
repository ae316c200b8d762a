import Foundation
import GRDB
import Glibc
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("A backup of the keychain", .timeLimit(.minutes(10)))
struct BackupTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let keychain: Keychain
    private var path: String { scratch.path("backup") }

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
        keychain = try Keychain(device: device, app: .provider)
        for accessibility in Accessibility.allCases {
            try keychain.setPassword(
                SecretBytes(utf8: accessibility.name), service: "s", account: accessibility.rawValue,
                accessibility: accessibility)
        }
        try keychain.add(Self.identity("ours"))
        try Keychain(device: device, app: .consumer).add(Self.identity("theirs"))
    }

    private static func identity(_ label: String) -> NewIdentity {
        var identity = NewIdentity.sample(label)
        identity.accessibility = .afterFirstUnlockThisDeviceOnly
        return identity
    }

    private func contents(_ keychain: Keychain) throws -> [String] {
        try Accessibility.allCases.compactMap {
            try keychain.password(service: "s", account: $0.rawValue)?.plain
        } + keychain.identities().map(\.label)
    }

    @Test(
        "On the same device, a backup restores all of the app's items except those that need a passcode"
    )
    func ownDevice() throws {
        let before = try contents(keychain).filter { $0 != "WhenPasscodeSetThisDeviceOnly" }
        #expect(before.count == 7)
        let groups = keychain.app.accessGroups
        #expect(try device.backUpKeychain(to: path, groups: groups).items == 7)
        try keychain.setPassword(SecretBytes(utf8: "later"), service: "s", account: "ak")
        try keychain.deleteIdentity(label: "ours")
        try keychain.add(Self.identity("newer"))
        let count = try keychain.changeCount()
        let result = try device.restoreKeychain(fromBackup: path, groups: groups, replacing: true)
        #expect(result == KeychainRestoration(restored: 7, left: 0))
        #expect(try contents(keychain) == before)
        #expect(try keychain.changeCount() > count)
        #expect(try Keychain(device: device, app: .consumer).identities().map(\.label) == ["theirs"])
        #expect(try keychain.verifyIntegrity().isEmpty)
        // Restoring twice has the same result.
        #expect(try device.restoreKeychain(fromBackup: path, groups: groups, replacing: true) == result)
    }

    @Test("A backup of every app's items restores every app's items")
    func everyApp() throws {
        #expect(try device.backUpKeychain(to: path).items == 8)
        try keychain.removeAll()
        try Keychain(device: device, app: .consumer).removeAll()
        #expect(try device.restoreKeychain(fromBackup: path).restored == 8)
        #expect(try Keychain(device: device, app: .consumer).identities().map(\.label) == ["theirs"])
    }

    @Test("Only the items of the named groups are restored from a backup of every app's items")
    func namedGroups() throws {
        let consumer = try Keychain(device: device, app: .consumer)
        #expect(try device.backUpKeychain(to: path).items == 8)
        try keychain.removeAll()
        try consumer.removeAll()
        let groups = keychain.app.accessGroups
        let result = try device.restoreKeychain(fromBackup: path, groups: groups)
        #expect(result == KeychainRestoration(restored: 7, left: 1))
        #expect(try consumer.identities().isEmpty)
    }

    @Test("A group that loses its items in a restore, and gets no new ones, has a new change count")
    func lostGroup() throws {
        let consumer = try Keychain(device: device, app: .consumer)
        _ = try device.backUpKeychain(to: path, groups: keychain.app.accessGroups)
        let count = try consumer.changeCount()
        #expect(try device.restoreKeychain(fromBackup: path, replacing: true).restored == 7)
        #expect(try consumer.identities().isEmpty && consumer.changeCount() > count)
    }

    @Test("Items are copied from another device only if both devices are unlocked")
    func lockedDevices() throws {
        let other = try Device(folder: scratch.path("other"))
        for locked in [device, other] {
            try locked.lock()
            #expect(throws: DeviceError(.locked, path: "", "")) { try other.restoreKeychain(from: device) }
            try locked.unlock()
        }
        #expect(try other.restoreKeychain(from: device).restored == 3)
    }

    @Test(
        "On another device, a backup restores only migratable items, and only with the key"
    )
    func otherDevice() throws {
        let key = try device.backUpKeychain(to: path).key
        let other = try Device(folder: scratch.path("other"))
        let restored = try Keychain(device: other, app: .provider)
        let foreign = DeviceError(.foreignBackup, path: "", "")
        #expect(throws: foreign) { try other.restoreKeychain(fromBackup: path) }
        for wrong in [SecretBytes([UInt8](repeating: 1, count: 32)), SecretBytes(utf8: "short")] {
            #expect(throws: DeviceError(.wrongBackupKey, path: "", "")) {
                try other.restoreKeychain(fromBackup: path, key: wrong)
            }
        }
        #expect(try contents(restored).isEmpty)
        let result = try other.restoreKeychain(fromBackup: path, key: key)
        #expect(result == KeychainRestoration(restored: 3, left: 5))
        #expect(try contents(restored) == ["WhenUnlocked", "AfterFirstUnlock", "Always"])
        // The key opens no item that is bound to its device.
        #expect(try device.restoreKeychain(fromBackup: path, key: key, replacing: true).restored == 8)
    }

    @Test(
        "Restoring fails if every item is bound to another device, but an empty backup can be restored"
    )
    func nothingComes() throws {
        let other = try Device(folder: scratch.path("other"))
        let theirs = try Keychain(device: other, app: .provider)
        try theirs.add(Self.identity("theirs"))
        try theirs.setPassword(
            SecretBytes(utf8: "p"), service: "s", account: "a", accessibility: .alwaysThisDeviceOnly)
        let key = try other.backUpKeychain(to: path).key
        let (before, count) = (try contents(keychain), try keychain.changeCount())
        #expect(throws: DeviceError(.nothingForThisDevice, path: "", "")) {
            try device.restoreKeychain(fromBackup: path, key: key, replacing: true)
        }
        #expect(try contents(keychain) == before && keychain.changeCount() == count)
        try theirs.removeAll()
        let empty = try other.backUpKeychain(to: path, replacing: true).key
        #expect(
            try device.restoreKeychain(fromBackup: path, key: empty, replacing: true)
                == KeychainRestoration(restored: 0, left: 0))
    }

    @Test("Backup and restore replace no existing file or items unless that is requested")
    func replacing() throws {
        _ = try device.backUpKeychain(to: path)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let there = FileError(.alreadyThere, path: "", "")
        #expect(throws: there) { try device.backUpKeychain(to: path) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
        let before = try contents(keychain)
        let count = try keychain.changeCount()
        #expect(throws: DeviceError(.keychainNotEmpty, path: "", "")) {
            try device.restoreKeychain(fromBackup: path)
        }
        #expect(try contents(keychain) == before && keychain.changeCount() == count)
        _ = try device.backUpKeychain(to: path, replacing: true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) != bytes)
        #expect(
            try scratch.names(scratch.path) == [
                "backup", "device",
            ])
    }

    @Test("A backup is a file of mode 0600 that contains neither a secret nor the master key in plain text")
    func file() throws {
        let key = try device.backUpKeychain(to: path).key
        #expect(try scratch.mode(path) == 0o600)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let master = try Data(contentsOf: URL(fileURLWithPath: device.folder + "/keychain/master.key"))
        #expect(bytes.range(of: master) == nil && bytes.range(of: Data(key.plain.utf8)) == nil)
        #expect(bytes.range(of: Data("AfterFirstUnlockThisDeviceOnly".utf8)) == nil)
    }

    @Test(
        "A restore changes nothing if the device is locked or a check rejects an identity"
    )
    func refused() throws {
        struct Unsound: Error {}
        _ = try device.backUpKeychain(to: path)
        let before = try contents(keychain)
        let count = try keychain.changeCount()
        var seen: [String] = []
        #expect(throws: Unsound.self) {
            try device.restoreKeychain(fromBackup: path, replacing: true) { identity in
                seen.append(identity.record.label)
                throw Unsound()
            }
        }
        #expect(seen == ["ours"])
        #expect(try contents(keychain) == before && keychain.changeCount() == count)
        try device.lock()
        let locked = DeviceError(.locked, path: "", "")
        #expect(throws: locked) { try device.restoreKeychain(fromBackup: path, replacing: true) }
        #expect(throws: locked) { try device.backUpKeychain(to: path, replacing: true) }
    }

    @Test(
        "Files that are not backups, truncated backups, newer backups and altered items are rejected"
    )
    func damaged() throws {
        _ = try device.backUpKeychain(to: path)
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let none = DeviceError(.noBackup, path: "", "")
        let files = [
            Data(), Data("no database".utf8), whole.prefix(4_096), whole.prefix(whole.count / 2),
            try Data(contentsOf: URL(fileURLWithPath: device.folder + "/keychain/keychain.sqlite")),
        ]
        for file in files {
            try file.write(to: URL(fileURLWithPath: path))
            #expect(throws: none) { try device.restoreKeychain(fromBackup: path, replacing: true) }
        }
        #expect(throws: FileError(.inputOutput(2), path: "", "")) {
            try device.restoreKeychain(fromBackup: path + "-none", replacing: true)
        }
        for change in [
            "PRAGMA user_version = 3", "PRAGMA user_version = 1", "PRAGMA application_id = 1",
            "DELETE FROM item", "DELETE FROM item WHERE account = 'dk'", "DELETE FROM backup",
            "UPDATE item SET sealed = (SELECT sealed FROM item LIMIT 1) WHERE account = 'dk'",
            "DROP TABLE item", "UPDATE item SET account = 'dk' || account WHERE account = 'dk'",
            "UPDATE item SET accessible = 'dk' WHERE account = 'cku'", "UPDATE item SET id = id + 100",
            "UPDATE item SET accessible = 'none'",
        ] {
            try whole.write(to: URL(fileURLWithPath: path))
            let queue = try DatabaseQueue(path: path)
            try queue.write { try $0.execute(sql: change) }
            try queue.close()
            let before = try contents(keychain)
            #expect(throws: none, "\(change)") {
                try device.restoreKeychain(fromBackup: path, replacing: true)
            }
            #expect(try contents(keychain) == before)
        }
    }

    /// Combining marks in random order. Comparing them as strings takes minutes.
    private static var marks: String {
        let marks: [Unicode.Scalar] = ["\u{301}", "\u{316}", "\u{327}", "\u{334}", "\u{345}", "\u{315}"]
        var text = String.UnicodeScalarView()
        for number in 0..<400_000 { text.append(marks[number * number / 7 % marks.count]) }
        return "a" + String(text)
    }

    @Test(
        "A long run of combining marks in a backup or in another device's keychain does not hold up a restore",
        arguments: [
            "UPDATE item SET accessible = 'MARKS'", "CREATE TABLE 'MARKS' (a)",
            "CREATE TABLE t (a DEFAULT 'MARKS')", "INSERT INTO grdb_migrations VALUES ('MARKS')",
        ])
    func marks(change: String) throws {
        let other = try Device(folder: scratch.path("other"))
        let key = try device.backUpKeychain(to: path).key
        func alter(_ path: String) throws {
            let queue = try DatabaseQueue(path: path)
            let statement = change.replacingOccurrences(of: "MARKS", with: Self.marks)
            try queue.writeWithoutTransaction { try $0.execute(sql: statement) }
            try queue.close()
        }
        if !change.contains("grdb") {
            try alter(path)
            #expect(throws: DeviceError(.noBackup, path: "", "")) {
                try other.restoreKeychain(fromBackup: path, key: key)
            }
        }
        try alter(device.folder + "/keychain/keychain.sqlite")
        #expect(throws: KeychainError.self) { try other.restoreKeychain(from: device) }
    }

    @Test(
        "Files next to a backup are ignored, and files next to a keychain must be private files",
        arguments: ["-journal", "-wal", "-shm"])
    func sideFiles(suffix: String) throws {
        let key = try device.backUpKeychain(to: path).key
        let names = try scratch.names(scratch.path)
        try #require(unsafe mkfifo(path + suffix, 0o666) == 0)
        let other = try Device(folder: scratch.path("other"))
        #expect(try other.restoreKeychain(fromBackup: path, key: key).restored == 3)
        #expect(try scratch.names(scratch.path) == (names + ["backup" + suffix, "other"]).sorted())
        let third = try Device(folder: scratch.path("third"))
        let pipe = other.folder + "/keychain/keychain.sqlite" + suffix
        try? FileManager.default.removeItem(atPath: pipe)
        try #require(unsafe mkfifo(pipe, 0o600) == 0)
        #expect(throws: FileError(.damagedFile, path: "", "")) { try third.restoreKeychain(from: other) }
        #expect(throws: KeychainError(.io, "")) { try Keychain(device: other, app: .provider) }
    }

    @Test("A backup is read by any path, including those that contain special characters of URIs")
    func paths() throws {
        for name in ["a?b#c%20.db", "file:x", "ä b"] {
            _ = try device.backUpKeychain(to: scratch.path(name))
            #expect(try device.restoreKeychain(fromBackup: scratch.path(name), replacing: true).restored == 8)
            let double = scratch.path + "//" + name
            #expect(try device.restoreKeychain(fromBackup: "/" + double, replacing: true).restored == 8)
        }
    }

    /// A view with the name of a table that never ends, and whose sorting needs unlimited memory.
    private static func endless(_ name: String) -> String {
        """
        DROP TABLE \(name);
        CREATE VIEW \(name) AS WITH RECURSIVE endless(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM endless)
        SELECT id, 1 AS version, 'idnt' AS class, 'g' AS accessGroup, 'ak' AS accessible, 'l' AS label,
            '' AS service, '' AS account, x'' AS applicationTag, 0 AS notBefore, x'' AS certificate,
            zeroblob(1000000) AS sealed, x'' AS proof, x'' AS whole, 1 AS last, 'item' AS name, 1 AS count,
            '1 items' AS identifier
        FROM endless
        """
    }

    @Test(
        "A backup with an unexpected view, trigger or table is rejected before any row is read",
        .timeLimit(.minutes(10)),
        arguments: [
            Self.endless("item"), Self.endless("backup"), "CREATE VIEW v AS SELECT 1",
            "CREATE TRIGGER t AFTER INSERT ON item BEGIN DELETE FROM item; END", "CREATE TABLE other (a)",
            "CREATE VIRTUAL TABLE other USING rtree(a, b, c)", "DROP INDEX itemByGroup",
        ])
    func foreignSchema(change: String) throws {
        let key = try device.backUpKeychain(to: path).key
        let queue = try DatabaseQueue(path: path)
        try queue.write { try $0.execute(sql: change) }
        try queue.close()
        for given in [key, nil] {
            #expect(throws: DeviceError(.noBackup, path: "", "")) {
                try device.restoreKeychain(fromBackup: path, key: given, replacing: true)
            }
        }
    }

    @Test(
        "Another device's keychain is rejected before any row is read if a view replaces a table",
        .timeLimit(.minutes(10)), arguments: ["item", "sequence", "change", "grdb_migrations"])
    func foreignDevice(table: String) throws {
        let queue = try DatabaseQueue(path: device.folder + "/keychain/keychain.sqlite")
        try queue.write { try $0.execute(sql: Self.endless(table)) }
        try queue.close()
        let other = try Device(folder: scratch.path("other"))
        let damaged = KeychainError(.invalidKeychain, "")
        #expect(throws: damaged) { try other.restoreKeychain(from: device) }
        // The device itself also rejects it, for reading and for writing.
        #expect(throws: damaged) { try Keychain(device: device, app: .provider) }
        #expect(throws: damaged) { try Keychain(existingOn: device, app: .provider) }
        #expect(throws: damaged) { try device.backUpKeychain(to: path) }
    }

    @Test("Restoring from a device without a keychain restores no items and creates no keychain there")
    func emptyDevice() throws {
        let empty = try Device(folder: scratch.path("empty"))
        #expect(try device.restoreKeychain(from: empty) == KeychainRestoration())
        #expect(try !scratch.names(empty.folder).contains("keychain"))
    }

    @Test("Reading an untrusted database is limited in steps, memory and value size")
    func foreignLimits() throws {
        _ = try device.backUpKeychain(to: path)
        let queue = try DatabaseQueue(path: path, configuration: .foreign(label: "test", path: path))
        let statements: [(String, ResultCode)] = [
            ("SELECT length(zeroblob(\(ForeignDatabaseLimits.rowSize + 1)))", .SQLITE_TOOBIG),
            (
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
                .SQLITE_INTERRUPT
            ),
            // The used steps are not reset.
            (
                "SELECT count(*) FROM item, item AS b, item AS c, item AS d, item AS e, item AS f, item AS g",
                .SQLITE_INTERRUPT
            ),
        ]
        for (statement, code) in statements {
            let error = #expect(throws: DatabaseError.self) {
                try queue.read { try Int.fetchOne($0, sql: statement) }
            }
            #expect(error?.resultCode == code)
        }
        let most = try queue.read { try Int.fetchOne($0, sql: "PRAGMA hard_heap_limit") }
        #expect(most == ForeignDatabaseLimits.memory)
    }

    @Test("A backup of a keychain with an altered item fails, and leaves no file")
    func alteredSource() throws {
        let queue = try DatabaseQueue(path: device.folder + "/keychain/keychain.sqlite")
        try queue.write { try $0.execute(sql: "UPDATE item SET account = 'x' WHERE account = 'dk'") }
        #expect(throws: KeychainError(.decode, "")) { try device.backUpKeychain(to: path) }
        #expect(try scratch.names(scratch.path) == ["device"])
    }

    @Test("A backup that is made during writes is a consistent snapshot")
    func consistent() async throws {
        let device = device
        let path = path
        // Two items that are always changed together.
        let writer = Task.detached {
            let keychain = try Keychain(device: device, app: .provider)
            for number in 0..<200 {
                if Task.isCancelled { break }
                _ = try keychain.removeAll(.identity)
                _ = try keychain.add(["a\(number)", "b\(number)"].map(Self.identity))
            }
        }
        for _ in 0..<10 {
            let groups = keychain.app.accessGroups
            _ = try device.backUpKeychain(to: path, groups: groups, replacing: true)
            let labels = try await DatabaseQueue(path: path).read { database in
                try String.fetchAll(database, sql: "SELECT label FROM item WHERE class = 'idnt'")
            }
            #expect(Set(labels.map { $0.dropFirst() }).count <= 1 && [0, 1, 2].contains(labels.count))
            #expect(labels.count != 1 || labels == ["ours"])
        }
        writer.cancel()
        try await writer.value
    }
}
