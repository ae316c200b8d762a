import Foundation
import Glibc
import PrivateFiles
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("Destinations of a backup and its key", .timeLimit(.minutes(10)))
struct BackupDestinationTests {
    private let scratch: ScratchFolder
    private let device: Device

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
        var identity = NewIdentity.sample("A")
        identity.accessibility = .afterFirstUnlock
        try Keychain(device: device, app: .provider).add(identity)
    }

    /// The contents of every file in the scratch folder.
    private func contents() throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in FileManager.default.enumerator(atPath: scratch.path)?.compactMap({ $0 as? String })
            ?? []
        {
            files[name] = FileManager.default.contents(atPath: scratch.path(name))
        }
        return files
    }

    @Test(
        "A backup and its key cannot be written to the same file, even under different paths",
        arguments: [true, false])
    func oneFile(isThere: Bool) throws {
        let path = scratch.path("backup")
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("folder"), withDestinationPath: scratch.path)
        var names = ["backup", "./backup", "folder/backup", "device/../backup"]
        if isThere {
            _ = try device.backUpKeychain(to: path)
            try FileManager.default.createSymbolicLink(
                atPath: scratch.path("link"), withDestinationPath: path)
            try FileManager.default.linkItem(atPath: path, toPath: scratch.path("hard"))
            names += ["link", "hard"]
        }
        let before = try contents()
        for name in names {
            #expect(throws: DeviceError(.keyInBackupFile, path: "", ""), "\(name)") {
                try device.backUpKeychain(to: path, keyPath: scratch.path(name), replacing: true)
            }
        }
        #expect(try contents() == before)
        _ = try device.backUpKeychain(to: path, keyPath: scratch.path("other"), replacing: true)
        #expect(try device.restoreKeychain(fromBackup: path, replacing: true).restored == 1)
    }

    @Test("A backup or its key cannot be written to the device's folder, regardless of the path")
    func insideDevice() throws {
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("way"), withDestinationPath: device.folder + "/keychain")
        let before = try contents()
        let (inside, folder) = (
            DeviceError(.backupInsideDevice, path: "", ""), FileError(.unsuitablePath, path: "", "")
        )
        for (name, expected) in [
            ("device/keychain/keychain.sqlite", inside as any Error), ("way/master.key", inside),
            ("device/new", inside), ("device", folder),
        ] {
            for (path, key) in [(name, "key"), ("backup", name)] {
                let error = #expect(throws: (any Error).self, "\(path) \(key)") {
                    try device.backUpKeychain(
                        to: scratch.path(path), keyPath: scratch.path(key), replacing: true)
                }
                #expect((error as? DeviceError) == (expected as? DeviceError), "\(path) \(key)")
                #expect((error as? FileError) == (expected as? FileError), "\(path) \(key)")
            }
        }
        #expect(try contents() == before)
        // A folder whose name only begins like the device's is a different folder.
        try FileManager.default.createDirectory(
            atPath: device.folder + "-2", withIntermediateDirectories: false)
        #expect(try device.backUpKeychain(to: device.folder + "-2/backup").items == 1)
    }

    @Test("Backups and their keys are never written over or read from a FIFO or a folder")
    func noFile() throws {
        let pipe = scratch.path("pipe")
        let unsuitable = FileError(.unsuitablePath, path: "", "")
        try #require(unsafe mkfifo(pipe, 0o600) == 0)
        for path in [pipe, scratch.path] {
            #expect(throws: unsuitable) { try device.backUpKeychain(to: path, replacing: true) }
            #expect(throws: unsuitable) {
                try device.backUpKeychain(to: scratch.path("backup"), keyPath: path, replacing: true)
            }
            let error = #expect(throws: DeviceError(.noBackup, path: "", "")) {
                try device.restoreKeychain(fromBackup: path, replacing: true)
            }
            #expect(error?.reason.hasSuffix("is not a regular file") == true)
            #expect(throws: FileError(.damagedFile, path: "", "")) { try Device.backupKey(path) }
        }
        #expect(try scratch.names(scratch.path) == ["device", "pipe"])
    }

    @Test("Neither the backup nor the key is written if one of them cannot be written")
    func neither() throws {
        let (path, key) = (scratch.path("backup"), scratch.path("key"))
        _ = try device.backUpKeychain(to: path, keyPath: key)
        let before = try contents()
        let there = FileError(.alreadyThere, path: "", "")
        #expect(throws: there) { try device.backUpKeychain(to: scratch.path("new"), keyPath: key) }
        #expect(throws: there) { try device.backUpKeychain(to: path, keyPath: scratch.path("new")) }
        for (path, key) in [(path, scratch.path("none/key")), (scratch.path("none/backup"), key)] {
            #expect(throws: FileError(.cannotCreate(ENOENT), path: "", "")) {
                try device.backUpKeychain(to: path, keyPath: key, replacing: true)
            }
        }
        #expect(try contents() == before)
    }
}
