import Foundation
import GRDB
import Glibc
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("The keychain's files", .timeLimit(.minutes(10)))
struct KeychainFileTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let folder: String

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
        folder = device.folder + "/keychain"
    }

    private func provider() throws -> Keychain { try Keychain(device: device, app: .provider) }

    /// SQLite's answer to `PRAGMA name` on the keychain's connection.
    private func pragma(_ name: String, _ keychain: Keychain) throws -> String? {
        try keychain.store.queue.inDatabase { try String.fetchOne($0, sql: "PRAGMA \(name)") }
    }

    @Test("Only the owner can access the keychain's files, regardless of the umask")
    func modes() throws {
        let keychain = try provider()
        try keychain.add(.sample("A"))
        #expect(try scratch.mode(folder) == 0o700)
        let names = try scratch.names(folder)
        #expect(
            Set(["keychain.sqlite", "keychain.sqlite-wal", "keychain.sqlite-shm", "master.key"]).isSubset(
                of: names))
        for name in names {
            #expect(try scratch.mode(folder + "/" + name) == 0o600, "\(name)")
        }
    }

    @Test(
        "Each connection to the keychain has the hardened settings",
        arguments: [
            ("journal_mode", "wal"), ("synchronous", "2"), ("secure_delete", "1"), ("trusted_schema", "0"),
            ("foreign_keys", "1"), ("temp_store", "2"), ("cell_size_check", "1"),
        ])
    func settings(name: String, value: String) throws {
        for keychain in [try provider(), try provider()] {
            #expect(try pragma(name, keychain) == value)
            _ = try keychain.identities()
            try keychain.add([.sample("A")]).forEach { _ in }
            #expect(try pragma(name, keychain) == value)
        }
    }

    @Test("No secret of the keychain is found in any file")
    func noPlainSecret() throws {
        let keychain = try provider()
        try keychain.add(.sample("A"))
        try keychain.setPassword(SecretBytes(utf8: "canary of a password"), service: "s", account: "a")
        for name in try scratch.names(folder) {
            let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
            #expect(data.firstRange(of: Data("key of A".utf8)) == nil, "\(name)")
            #expect(data.firstRange(of: Data("canary of a password".utf8)) == nil, "\(name)")
        }
    }

    @Test("The master key has 32 bytes and is created once")
    func masterKey() throws {
        try provider().add(.sample("A"))
        let key = try Data(contentsOf: URL(fileURLWithPath: folder + "/master.key"))
        #expect(key.count == 32 && Set(key).count > 8)
        #expect(try provider().privateKey(label: "A") == NewIdentity.key("A"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/master.key")) == key)
    }

    @Test(
        "A missing, resized, exposed or linked master key makes the keychain fail and is not replaced"
    )
    func badMasterKey() throws {
        try provider().add(.sample("A"))
        let path = folder + "/master.key"
        let key = try Data(contentsOf: URL(fileURLWithPath: path))
        let spoilings: [(KeychainError.Code, () throws -> Void)] = [
            (.invalidKeychain, {}),
            (.invalidKeychain, { try AtomicFile.write(Array(key.dropLast()), to: path) }),
            (.invalidKeychain, { try AtomicFile.write(Array(key) + [0], to: path) }),
            (.invalidKeychain, { try AtomicFile.write([], to: path) }),
            (.io, { try AtomicFile.write(Array(key), to: path, mode: 0o640) }),
            (
                .io,
                {
                    try AtomicFile.write(Array(key), to: path + ".real")
                    try FileManager.default.createSymbolicLink(
                        atPath: path, withDestinationPath: path + ".real")
                }
            ),
        ]
        for (code, spoil) in spoilings {
            try FileManager.default.removeItem(atPath: path)
            try spoil()
            #expect(throws: KeychainError(code, "")) { try provider() }
            try AtomicFile.write(Array(key), to: path)
            #expect(try provider().privateKey(label: "A") == NewIdentity.key("A"))
        }
        try AtomicFile.write([UInt8](repeating: 7, count: 32), to: path)
        #expect(throws: KeychainError(.decode, "")) { try provider().privateKey(label: "A") }
    }

    @Test("A keychain whose database or folder is a symbolic link is rejected")
    func links() throws {
        _ = try provider()
        let path = folder + "/keychain.sqlite"
        try FileManager.default.moveItem(atPath: path, toPath: path + ".real")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + ".real")
        var error = #expect(throws: KeychainError.self) { try provider() }
        #expect((error?.cause as? FileError)?.code == .symbolicLink)

        try FileManager.default.moveItem(atPath: folder, toPath: folder + ".real")
        try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: folder + ".real")
        error = #expect(throws: KeychainError.self) { try provider() }
        #expect((error?.cause as? FileError)?.code == .symbolicLink)
    }

    @Test("A keychain is rejected if other users can read its database")
    func exposed() throws {
        _ = try provider()
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o640], ofItemAtPath: folder + "/keychain.sqlite")
        let error = #expect(throws: KeychainError.self) { try provider() }
        #expect((error?.cause as? FileError)?.code == .exposedFile)
    }

    @Test("The generation file has 20 digits and a line feed, and an existing one is not reset")
    func generation() throws {
        let files = KeychainFiles(folder: try device.keychainFolder())
        #expect(files.readGeneration() == .missing)
        try files.makeGeneration()
        #expect(files.readGeneration() == .changes(0))
        try files.noteGeneration(42)
        try files.makeGeneration()
        #expect(files.readGeneration() == .changes(42))
        let zeros = String(repeating: "0", count: 18)
        for (text, generation) in [
            (zeros + "07\n", KeychainFiles.Generation.changes(7)), (zeros + "7\n", .unreadable),
            (zeros + "007\n", .unreadable), (zeros + "007", .unreadable), ("-" + zeros + "7\n", .unreadable),
            ("", .unreadable),
        ] {
            try AtomicFile.write(Array(text.utf8), to: files.generation)
            #expect(files.readGeneration() == generation, "\(text)")
        }
    }

    @Test("A database is created only if the file does not exist")
    func existingDatabase() throws {
        let files = KeychainFiles(folder: try device.keychainFolder())
        try AtomicFile.write([1], to: files.database)
        #expect(throws: FileError(.cannotCreate(EEXIST), path: "", "")) { try files.makeDatabase() }
        #expect(try files.databaseSize() == 1)
    }

    @Test("Opening the keychain twice does not drop the locks of the first connection")
    func locksSurvive() throws {
        let first = try provider()
        try first.add(.sample("A"))
        for _ in 0..<3 { _ = try provider().identities() }
        // A process loses its locks when it closes any descriptor of the file, including this one.
        let descriptor = unsafe open(folder + "/keychain.sqlite", O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        // The query whether an open file description could get a lock, which locks of processes prevent,
        // including this process's. F_OFD_GETLK (fcntl(2)); Glibc's module does not have the name.
        let query: CInt = 36
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        try #require(unsafe fcntl(descriptor, query, &lock) == 0)
        #expect(lock.l_type == Int16(F_RDLCK))
        withExtendedLifetime(first) {}
    }

    @Test("A damaged database, or a file that is not a database, is an invalid keychain")
    func damage() throws {
        try provider().add((0..<200).map { .sample("L\($0)") }).forEach { _ = try $0.get() }
        let path = folder + "/keychain.sqlite"
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        // In the pages after the first one, which contains the schema.
        for offset in stride(from: 4_096, to: data.count, by: 512) {
            data.replaceSubrange(offset..<offset + 8, with: [UInt8](repeating: 0xFF, count: 8))
        }
        try data.write(to: URL(fileURLWithPath: path))
        do throws(KeychainError) {
            let problems = try Keychain(device: device, app: .provider).quickCheck()
            #expect(!problems.isEmpty)
        } catch {
            #expect(error == KeychainError(.invalidKeychain, ""))
        }
        try Data(repeating: 0x41, count: 8_192).write(to: URL(fileURLWithPath: path))
        #expect(throws: KeychainError(.invalidKeychain, "")) { try provider() }
    }

    @Test("A keychain of a newer version is not changed")
    func newerVersion() throws {
        try provider().store.queue.write {
            try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99 later')")
        }
        #expect(throws: KeychainError(.incompatibleVersion, "")) { try provider() }
        #expect(throws: KeychainError(.incompatibleVersion, "")) {
            try Keychain(existingOn: device, app: .provider)
        }
    }

    @Test("A full disk is reported by a distinct error and leaves no partial change")
    func diskFull() throws {
        let keychain = try provider()
        try keychain.add(.sample("A"))
        try keychain.store.queue.inDatabase { database in
            let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            try database.execute(sql: "PRAGMA max_page_count = \(pages + 10)")
        }
        #expect(throws: KeychainError(.diskFull, "")) {
            try keychain.add((0..<1_000).map { .sample("L\($0)") })
        }
        #expect(try keychain.identities().map(\.label) == ["A"])
        #expect(try keychain.changeCount() == 1)
        try keychain.add(.sample("B"))
        #expect(try keychain.verifyIntegrity().isEmpty)
    }

    @Test("Writing to a read-only keychain throws a distinct error, and reading succeeds")
    func readOnly() throws {
        let keychain = try provider()
        try keychain.add(.sample("A"))
        try keychain.store.queue.inDatabase { try $0.execute(sql: "PRAGMA query_only = ON") }
        #expect(throws: KeychainError(.readOnly, "")) { try keychain.add(.sample("B")) }
        #expect(try keychain.privateKey(label: "A") == NewIdentity.key("A"))
    }
}
