import Foundation
import GRDB
import Glibc
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("The keychain manifest", .timeLimit(.minutes(10)))
struct ManifestTests {
    private let scratch: ScratchFolder
    private let device: Device
    private var folder: String { device.folder + "/keychain" }

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
        for label in ["A", "B", "C"] { try provider().add(Self.identity(label)) }
    }

    /// An identity that backups contain.
    private static func identity(_ label: String) -> NewIdentity {
        var identity = NewIdentity.sample(label)
        identity.accessibility = .afterFirstUnlockThisDeviceOnly
        return identity
    }

    private func provider() throws -> Keychain { try Keychain(device: device, app: .provider) }

    private func problems() throws -> [KeychainProblem] { try provider().verifyIntegrity() }

    /// Runs `sql` like a program that does not maintain the manifest.
    private func alter(_ sql: String) throws {
        let queue = try DatabaseQueue(path: folder + "/keychain.sqlite")
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }

    /// The files of the database, keyed by name.
    private func copies(_ names: [String]) throws -> [String: Data] {
        // Closing the last connection of a process moves the log's contents into the database.
        try DatabaseQueue(path: folder + "/keychain.sqlite").close()
        return names.reduce(into: [:]) { $0[$1] = FileManager.default.contents(atPath: "\(folder)/\($1)") }
    }

    private func putBack(_ copies: [String: Data]) throws {
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: folder + "/keychain.sqlite" + suffix)
        }
        for (name, data) in copies { try data.write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
    }

    @Test(
        "Deleted, copied and swapped rows are detected, even if each remaining row can be decrypted",
        arguments: [
            ("DELETE FROM item WHERE label = 'B'", "2 items instead of 3"),
            ("DELETE FROM item", "0 items instead of 3"),
            ("DELETE FROM manifest", "its manifest is missing or was altered"),
            (
                "UPDATE manifest SET changes = changes + 1",
                "its manifest is missing or was altered"
            ),
            ("UPDATE manifest SET items = 2; DELETE FROM item WHERE label = 'B'", "missing or was altered"),
            (
                "INSERT INTO manifest SELECT * FROM manifest",
                "its manifest is missing or was altered"
            ),
        ])
    func rows(sql: String, words: String) throws {
        #expect(try problems() == [])
        try alter(sql)
        guard case .structure(let reason)? = try problems().first, try problems().count == 1 else {
            Issue.record("\(try problems())")
            return
        }
        #expect(reason.contains(words))
        // A change of our own does not make the manifest match again.
        try provider().add(Self.identity("D"))
        #expect(try problems().count == 1)
    }

    @Test("Replacing a row with an earlier version is detected")
    func earlierRow() throws {
        try alter("CREATE TABLE kept AS SELECT * FROM item WHERE label = 'A'")
        let keychain = try provider()
        try keychain.deleteIdentity(label: "A")
        try keychain.add(Self.identity("A"))
        try alter(
            "DELETE FROM item WHERE label = 'A'; INSERT INTO item SELECT * FROM kept; DROP TABLE kept")
        #expect(try keychain.privateKey(label: "A") == NewIdentity.key("A"))
        guard case .structure(let reason)? = try problems().first else {
            Issue.record("no problem of the structure was reported")
            return
        }
        #expect(reason.contains("replaced items"))
    }

    @Test("Restoring an old database is detected unless the generation file is restored with it")
    func database() throws {
        let names = ["keychain.sqlite", "generation"]
        let before = try copies(names)
        try provider().deleteIdentity(label: "A")
        let after = try copies(names)
        try putBack(before.filter { $0.key == "keychain.sqlite" })
        #expect(
            try problems() == [
                .structure("it is at change 3, but change 4 was recorded: an older version was restored")
            ])
        try putBack(before)
        #expect(try problems() == [])
        try putBack(after)
        #expect(try problems() == [])
    }

    @Test("A missing or invalid generation file is detected")
    func generation() throws {
        try FileManager.default.removeItem(atPath: folder + "/generation")
        #expect(try problems() == [.structure("the file that counts its changes is missing")])
        try provider().add(Self.identity("D"))
        #expect(try problems() == [.structure("the file that counts its changes is missing")])
        try Data("many".utf8).write(to: URL(fileURLWithPath: folder + "/generation"))
        #expect(unsafe chmod(folder + "/generation", 0o600) == 0)
        #expect(try problems() == [.structure("the file that counts its changes cannot be read")])
    }

    @Test("Every change by the keychain itself updates the manifest")
    func ownChanges() throws {
        let keychain = try provider()
        let consumer = try Keychain(device: device, app: .consumer)
        try consumer.setPassword(SecretBytes(utf8: "p"), service: "s", account: "a")
        try consumer.setPassword(SecretBytes(utf8: "q"), service: "s", account: "a")
        #expect(throws: KeychainError(.duplicateItem, "")) { try keychain.add(Self.identity("A")) }
        try keychain.update(KeychainQuery(.identity, label: "A"), KeychainChange(label: "Z"))
        try keychain.delete(KeychainQuery(.identity, label: "B"))
        #expect(try problems() == [])
        let backup = scratch.path("backup")
        _ = try device.backUpKeychain(to: backup)
        #expect(throws: DeviceError.self) { try device.restoreKeychain(fromBackup: backup) }
        #expect(try problems() == [])
        _ = try device.restoreKeychain(fromBackup: backup, replacing: true)
        #expect(try problems() == [])
        try keychain.removeAll()
        #expect(try problems() == [])
        _ = try device.recoverKeychain(fromBackup: backup, groups: App.provider.accessGroups)
        #expect(try problems() == [])
        let other = try Device(folder: scratch.path("other"))
        try other.restoreKeychain(from: device)
        #expect(try Keychain(device: other, app: .provider).verifyIntegrity() == [])
    }

    @Test(
        "A connection records rows from its first change on, and a connection that only reads records nothing"
    )
    func watching() throws {
        let keychain = try provider()
        func triggers() throws -> Int? {
            try keychain.store.queue.read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM temp.sqlite_master")
            }
        }
        #expect(try keychain.identityAttributes().count == 3)
        #expect(try triggers() == 0)
        for label in ["D", "E"] {
            try keychain.add(Self.identity(label))
            #expect(try triggers() == 3)
        }
        #expect(try problems() == [])
    }

    @Test(
        "Each app that shares a connection sees only its own items, and the changes of all apps are recorded")
    func views() throws {
        let keychain = try provider()
        let consumer = try keychain.seen(by: .consumer)
        #expect(try consumer.identityAttributes().isEmpty)
        try consumer.add(Self.identity("D"))
        #expect(try consumer.identityAttributes().map(\.label) == ["D"])
        #expect(try keychain.identityAttributes().count == 3)
        #expect(try problems() == [])
    }

    @Test("Opening a keychain of a version without a manifest adds the manifest")
    func migration() throws {
        try alter(
            "DROP TABLE manifest; ALTER TABLE change DROP COLUMN removals; DELETE FROM grdb_migrations WHERE identifier = '3 manifest'"
        )
        try FileManager.default.removeItem(atPath: folder + "/generation")
        #expect(try Keychain(existingOn: device, app: .provider)?.verifyIntegrity() == [])
        #expect(try problems() == [])
        try alter("DELETE FROM item WHERE label = 'B'")
        #expect(try problems().count == 1)
    }
}
