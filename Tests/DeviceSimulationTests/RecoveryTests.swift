import Foundation
import GRDB
import Glibc
import PrivateFiles
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("Replacing a damaged keychain with a backup", .timeLimit(.minutes(10)))
struct RecoveryTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let groups = App.provider.accessGroups
    private var path: String { scratch.path("backup") }
    private var folder: String { device.folder + "/keychain" }

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
        for app in [App.provider, .consumer] {
            try Keychain(device: device, app: app).add(Self.identity("of \(app.bundleIdentifier)"))
        }
        _ = try device.backUpKeychain(to: path, groups: groups)
    }

    private static func identity(_ label: String) -> NewIdentity {
        var identity = NewIdentity.sample(label)
        identity.accessibility = .afterFirstUnlockThisDeviceOnly
        return identity
    }

    private func labels(_ app: App) throws -> [String] {
        try Keychain(device: device, app: app).identities().map(\.label)
    }

    private func spoil(_ damage: String) throws {
        let database = folder + "/keychain.sqlite"
        switch damage {
        case "gone": try FileManager.default.removeItem(atPath: database)
        case "empty": try AtomicFile.write([], to: database)
        case "garbage": try AtomicFile.write([UInt8](repeating: 0x41, count: 20_000), to: database)
        default:
            let queue = try DatabaseQueue(path: database)
            try queue.write { try $0.execute(sql: damage) }
            try queue.close()
        }
    }

    @Test(
        "Recovery restores the backup's items and other readable items, and keeps the damaged files",
        arguments: [
            "gone", "empty", "garbage", "DELETE FROM sequence", "DROP TABLE change", "DROP TABLE item",
        ])
    func recovered(damage: String) throws {
        try spoil(damage)
        let before = FileManager.default.contents(atPath: folder + "/keychain.sqlite")
        let isReadable = damage == "DELETE FROM sequence" || damage == "DROP TABLE change"
        let recovery = try device.recoverKeychain(fromBackup: path, groups: groups)
        #expect(recovery.restoration == KeychainRestoration(restored: 1, left: 0))
        #expect(recovery.saved == (isReadable ? 1 : 0))
        #expect(try labels(.provider) == ["of red.hound.keyshare.provider"])
        #expect(try labels(.consumer) == (isReadable ? ["of red.hound.keyshare.consumer"] : []))
        let keychain = try Keychain(device: device, app: .provider)
        #expect(try keychain.verifyIntegrity().isEmpty)
        try keychain.add(Self.identity("later"))
        // No item was lost.
        #expect(recovery.folder == folder + "/damaged-1")
        #expect(FileManager.default.contents(atPath: recovery.folder + "/keychain.sqlite") == before)
        #expect(
            FileManager.default.contents(atPath: recovery.folder + "/master.key")
                == FileManager.default.contents(atPath: folder + "/master.key"))
        #expect(try !scratch.names(folder).contains("new"))
        #expect(device.problems().isEmpty)
    }

    @Test("The damaged files get a free name, even beside a symbolic link that leads nowhere")
    func danglingLink() throws {
        try spoil("garbage")
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/damaged-1", withDestinationPath: "/nowhere/else")
        let recovery = try device.recoverKeychain(fromBackup: path, groups: groups)
        #expect(recovery.folder == folder + "/damaged-2")
    }

    @Test("A damaged keychain is not changed if the backup is invalid, rejected or from another device")
    func refused() throws {
        struct Unsound: Error {}
        let other = try Device(folder: scratch.path("other"))
        try Keychain(device: other, app: .provider).add(Self.identity("A"))
        _ = try other.backUpKeychain(to: scratch.path("foreign"))
        try spoil("DELETE FROM sequence")
        let before = try scratch.names(folder)
        let database = FileManager.default.contents(atPath: folder + "/keychain.sqlite")
        #expect(throws: DeviceError(.foreignBackup, path: "", "")) {
            try device.recoverKeychain(fromBackup: scratch.path("foreign"), groups: groups)
        }
        #expect(throws: FileError(.inputOutput(2), path: "", "")) {
            try device.recoverKeychain(fromBackup: scratch.path("none"), groups: groups)
        }
        #expect(throws: Unsound.self) {
            try device.recoverKeychain(fromBackup: path, groups: groups) { _ in throw Unsound() }
        }
        try device.lock()
        #expect(throws: DeviceError(.locked, path: "", "")) {
            try device.recoverKeychain(fromBackup: nil, groups: groups)
        }
        // Except the log and the shared memory of the check.
        #expect(try scratch.names(folder).filter { !$0.contains("sqlite-") } == before)
        #expect(FileManager.default.contents(atPath: folder + "/keychain.sqlite") == database)
    }

    @Test("Recovery without a backup creates an empty keychain, and a new key if the old key is lost")
    func anew() throws {
        let key = folder + "/master.key"
        let kept = FileManager.default.contents(atPath: key)
        try AtomicFile.write([1, 2, 3], to: key)
        let recovery = try device.recoverKeychain(fromBackup: nil, groups: groups)
        #expect(FileManager.default.contents(atPath: recovery.folder + "/master.key") == Data([1, 2, 3]))
        #expect(FileManager.default.contents(atPath: key).map { $0.count == 32 && $0 != kept } == true)
        #expect(try labels(.provider).isEmpty && labels(.consumer).isEmpty)
        try spoil("gone")
        #expect(try device.recoverKeychain(fromBackup: nil, groups: groups).folder == folder + "/damaged-2")
    }

    @Test("A damaged keychain is not moved while another process has it open")
    func open() throws {
        try spoil("DELETE FROM sequence")
        let before = FileManager.default.contents(atPath: folder + "/keychain.sqlite")
        let file = try #require(FileHandle(forReadingAtPath: folder + "/keychain.sqlite"))
        // SQLite's shared lock, as a lock of an open file (F_OFD_SETLK), which conflicts with those of its own process.
        var lock = flock()
        lock.l_type = Int16(F_RDLCK)
        lock.l_start = 0x4000_0002
        lock.l_len = 510
        try #require(unsafe fcntl(file.fileDescriptor, 37, &lock) == 0)
        #expect(throws: DeviceError(.inUse, path: "", "")) {
            try device.recoverKeychain(fromBackup: path, groups: groups)
        }
        #expect(try scratch.names(folder).filter { $0 == "new" || $0.hasPrefix("damaged") }.isEmpty)
        #expect(FileManager.default.contents(atPath: folder + "/keychain.sqlite") == before)
        try file.close()
        #expect(try device.recoverKeychain(fromBackup: path, groups: groups).saved == 1)
    }

    @Test(
        "A recovery after an interrupted one starts with the damaged keychain again",
        arguments: [["keychain.sqlite"], ["keychain.sqlite", "generation"]])
    func interrupted(moved: [String]) throws {
        try spoil("DELETE FROM sequence")
        let (aside, fresh) = (folder + "/damaged-1", folder + "/new")
        // The files of an attempt that was killed after it moved `moved`.
        try PrivateFolder.make(aside)
        try PrivateFolder.make(fresh)
        try FileManager.default.copyItem(atPath: folder + "/master.key", toPath: aside + "/master.key")
        for name in ["keychain.sqlite", "generation", "master.key"] {
            try FileManager.default.copyItem(atPath: folder + "/" + name, toPath: fresh + "/" + name)
        }
        try AtomicFile.write(Array("1".utf8), to: fresh + "/replacement")
        for name in moved {
            try FileManager.default.moveItem(atPath: folder + "/" + name, toPath: aside + "/" + name)
        }
        let recovery = try device.recoverKeychain(fromBackup: path, groups: groups)
        #expect(recovery.saved == 1)
        #expect(recovery.folder == aside)
        #expect(try labels(.consumer) == ["of red.hound.keyshare.consumer"])
        #expect(try !scratch.names(folder).contains { $0 == "new" || $0 == "damaged-2" })
    }

    @Test("A recovery does not replace a keychain that was put in place after an interrupted one")
    func putInPlace() throws {
        let (aside, fresh) = (folder + "/damaged-1", folder + "/new")
        try FileManager.default.copyItem(atPath: folder, toPath: scratch.path("copy"))
        try spoil("DELETE FROM sequence")
        // The files of an attempt that was killed before the new database was in its place.
        for name in [aside, fresh] { try PrivateFolder.make(name) }
        for name in ["keychain.sqlite", "master.key"] {
            try FileManager.default.copyItem(atPath: folder + "/" + name, toPath: fresh + "/" + name)
        }
        try AtomicFile.write(Array("1".utf8), to: fresh + "/replacement")
        try FileManager.default.moveItem(
            atPath: folder + "/keychain.sqlite", toPath: aside + "/keychain.sqlite")
        let kept = FileManager.default.contents(atPath: aside + "/keychain.sqlite")
        // The user's copy, which is later damaged, too.
        try FileManager.default.copyItem(
            atPath: scratch.path("copy/keychain.sqlite"), toPath: folder + "/keychain.sqlite")
        try Keychain(device: device, app: .consumer).add(Self.identity("later"))
        try spoil("DELETE FROM sequence")
        let recovery = try device.recoverKeychain(fromBackup: path, groups: groups)
        #expect(recovery.saved == 2 && recovery.folder == folder + "/damaged-2")
        #expect(try labels(.consumer).contains("later"))
        #expect(FileManager.default.contents(atPath: aside + "/keychain.sqlite") == kept)
    }

    @Test(
        "A recovery that was interrupted before the new key was in its place is completed",
        arguments: [true, false])
    func interruptedBeforeKey(isLostKeyInPlace: Bool) throws {
        let (aside, fresh) = (folder + "/damaged-1", folder + "/new")
        for name in [aside, fresh] { try PrivateFolder.make(name) }
        try AtomicFile.write(Array("1".utf8), to: fresh + "/replacement")
        try FileManager.default.moveItem(atPath: folder + "/master.key", toPath: fresh + "/master.key")
        try AtomicFile.write([1, 2, 3], to: aside + "/master.key")
        if isLostKeyInPlace {
            try FileManager.default.linkItem(atPath: aside + "/master.key", toPath: folder + "/master.key")
        }
        #expect(throws: KeychainError.self) { try labels(.consumer) }
        #expect(try device.recoverKeychain(fromBackup: path, groups: groups).saved == 1)
        #expect(try labels(.consumer) == ["of red.hound.keyshare.consumer"])
    }

    @Test(
        "A database or key that cannot be opened now is not treated as damaged, and nothing is moved",
        arguments: ["keychain.sqlite-shm", "master.key"])
    func cannotBeOpened(name: String) throws {
        try spoil("DELETE FROM sequence")
        let (file, kept) = (folder + "/" + name, scratch.path("kept"))
        if name == "master.key" { try FileManager.default.moveItem(atPath: file, toPath: kept) }
        try? FileManager.default.removeItem(atPath: file)
        // Opening a socket fails, even for root.
        try #require(unsafe mknod(file, S_IFSOCK | 0o600, 0) == 0)
        #expect(throws: (any Error).self) {
            try device.recoverKeychain(fromBackup: path, groups: groups)
        }
        #expect(try scratch.names(folder).filter { $0 == "new" || $0.hasPrefix("damaged") }.isEmpty)
        try FileManager.default.removeItem(atPath: file)
        if name == "master.key" { try FileManager.default.moveItem(atPath: kept, toPath: file) }
        #expect(try device.recoverKeychain(fromBackup: path, groups: groups).saved == 1)
    }
}
