import Foundation
import Glibc
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("The device's folder", .timeLimit(.minutes(10)))
struct DeviceTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
    }

    @Test("A device's folder and its parents are created on first use, accessible only to the owner")
    func madeOnFirstUse() throws {
        let path = scratch.path("share/keyshare/device")
        let device = try Device(folder: path + "/")
        #expect(device.folder.hasSuffix("/share/keyshare/device"))
        for folder in [path, scratch.path("share/keyshare"), scratch.path("share")] {
            #expect(try scratch.mode(folder) == 0o700)
        }
        #expect(try Device(folder: path) == device)
    }

    @Test(
        "An empty folder or a device that the user owns is made inaccessible to other users",
        arguments: [nil, "keychain"])
    func tightened(content: String?) throws {
        let path = scratch.path("open")
        try makeOpen(path)
        if let content { try makeOpen(path + "/" + content) }
        _ = try Device(folder: path)
        #expect(try scratch.mode(path) == 0o700)
    }

    @Test("A folder named keychain marks a device only if it contains one of the keychain's files")
    func foreignKeychain() throws {
        let folder = scratch.path("documents")
        let keychain = folder + "/keychain"
        try FileManager.default.createDirectory(atPath: keychain, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: keychain + "/notes"))
        #expect(try !Device.isThere(folder: folder) && !Device.isDevice(folder: folder))
        #expect(throws: FileError.self) { try Device.isThere(folder: keychain + "/notes") }
        for name in ["keychain.sqlite", "master.key", "generation", "damaged-1"] {
            try Data().write(to: URL(fileURLWithPath: "\(keychain)/\(name)"))
            #expect(try Device.isThere(folder: folder) && Device.isDevice(folder: folder), "\(name)")
            try FileManager.default.removeItem(atPath: "\(keychain)/\(name)")
        }
    }

    @Test("A device below a link whose target is not UTF-8 cannot be opened")
    func invalidTarget() throws {
        try scratch.shell(
            #"mkdir -m 700 "$(printf 'o\377')" "$(printf 'o\357\277\275')"; ln -s "$(printf 'o\377')" link"#)
        #expect(throws: FileError(.inputOutput(EILSEQ), path: "", "")) {
            try Device(folder: scratch.path("link/device"))
        }
        #expect(try scratch.names(scratch.path("o\u{FFFD}")).isEmpty)
    }

    @Test("A folder that is accessible to other users and contains other files is not changed")
    func otherThings() throws {
        let path = scratch.path("open")
        try makeOpen(path)
        try makeOpen(path + "/notes")
        #expect(throws: FileError(.exposedFolder, path: "", "")) { try Device(folder: path) }
        // A file, a link or another user's folder of that name does not make the folder a device.
        try Data().write(to: URL(fileURLWithPath: path + "/keychain"))
        #expect(throws: FileError(.exposedFolder, path: "", "")) { try Device(folder: path) }
        try FileManager.default.removeItem(atPath: path + "/keychain")
        try FileManager.default.createSymbolicLink(
            atPath: path + "/keychain", withDestinationPath: path + "/notes")
        #expect(throws: FileError(.exposedFolder, path: "", "")) { try Device(folder: path) }
        if geteuid() == 0 {
            try FileManager.default.removeItem(atPath: path + "/keychain")
            try makeOpen(path + "/keychain")
            try #require(unsafe chown(path + "/keychain", 65_534, 65_534) == 0)
            #expect(throws: FileError(.exposedFolder, path: "", "")) { try Device(folder: path) }
        }
        #expect(try scratch.mode(path) == 0o755)
    }

    @Test("A folder that is accessible only to its owner may contain a device and other files")
    func otherThingsInside() throws {
        let path = scratch.path("closed")
        try makeOpen(path)
        try makeOpen(path + "/notes")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        _ = try Device(folder: path)
    }

    private func makeOpen(_ path: String) throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
    }

    @Test(
        "A symbolic link is rejected as a device, with and without a trailing slash",
        arguments: ["", "/", "//"])
    func symbolicLink(suffix: String) throws {
        let target = scratch.path("target")
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: scratch.path("link"), withDestinationPath: target)
        let error = #expect(throws: FileError.self) { try Device(folder: scratch.path("link") + suffix) }
        #expect(error?.code == .symbolicLink)
    }

    @Test("A path with a symbolic link in a parent folder resolves to the same device")
    func linkAbove() throws {
        let device = try scratch.device()
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("link"), withDestinationPath: scratch.path)
        #expect(try Device(folder: scratch.path("link/device")) == device)
    }

    @Test("A file is rejected as a device")
    func file() throws {
        try Data().write(to: URL(fileURLWithPath: scratch.path("file")))
        #expect(throws: FileError(.notAFolder, path: "", "")) { try Device(folder: scratch.path("file")) }
    }

    @Test("Another user's folder is rejected as a device")
    func foreignOwner() throws {
        var path = "/usr"
        if geteuid() == 0 {
            path = scratch.path("foreign")
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try #require(unsafe chown(path, 65_534, 65_534) == 0)
        }
        #expect(throws: FileError(.foreignOwner, path: "", "")) { try Device(folder: path) }
    }

    @Test("A device that cannot be created fails with the system's reason")
    func cannotCreate() throws {
        try Data().write(to: URL(fileURLWithPath: scratch.path("file")))
        #expect(throws: FileError(.cannotCreate(ENOTDIR), path: "", "")) {
            try Device(folder: scratch.path("file/device"))
        }
        #expect(throws: FileError(.cannotCreate(ENOENT), path: "", "")) { try Device(folder: "") }
    }

    @Test("Every app has a container, and only a group's apps have access to its container")
    func containers() throws {
        let device = try scratch.device()
        let own = try device.container(of: .consumer)
        #expect(own.hasPrefix(device.folder + "/"))
        #expect(try own != device.container(of: .provider))
        #expect(try scratch.mode(own) == 0o700)

        let group = "group.red.hound.keyshare.provider"
        #expect(try scratch.mode(device.groupContainer(group, for: .provider)) == 0o700)
        #expect(throws: DeviceError(.missingEntitlement(group), path: "", "")) {
            try device.groupContainer(group, for: .consumer)
        }
    }

    @Test("Resetting a device restores its initial state and keeps other files in the folder")
    func reset() throws {
        let device = try scratch.device()
        try AtomicFile.write([1], to: device.folder + "/notes")
        let keychain = try Keychain(device: device, app: .provider)
        try keychain.setPassword(SecretBytes(utf8: "p"), service: "s", account: "a")
        try Pasteboard(device: device).write(SecretBytes(utf8: "p"), owner: .provider, now: Date())
        try Notifications(device: device).post("n")
        try AppGroup("group.red.hound.keyshare.provider", app: .provider, device: device).write([1], to: "f")
        _ = try device.container(of: .provider)
        _ = try device.publicFolder()
        try device.restart()
        try device.reset()
        #expect(try scratch.names(device.folder) == ["notes"])
        #expect(try device.state() == .new)
        #expect(try Keychain(device: device, app: .provider).password(service: "s", account: "a") == nil)
    }

    @Test(
        "A device's lock has several shared holders or one exclusive holder, and creates no file")
    func use() throws {
        let device = try scratch.device()
        let before = try scratch.names(device.folder)
        do {
            let uses = try (0..<2).map { _ in try device.lockShared() }
            #expect(throws: DeviceError(.inUse, path: "", "")) { try device.lockExclusively() }
            for use in uses { use.release() }
        }
        do {
            let alone = try device.lockExclusively()
            #expect(throws: DeviceError(.beingErased, path: "", "")) { try device.lockShared() }
            #expect(throws: DeviceError(.inUse, path: "", "")) { try device.lockExclusively() }
            alone.release()
        }
        _ = try device.lockShared()
        #expect(try scratch.names(device.folder) == before)
    }

    @Test("Cleanup removes only half-written files, and only after an hour")
    func unfinished() throws {
        let device = try scratch.device()
        let folder = try device.keychainFolder()
        let now = Date()
        func make(_ name: String, age: Double) throws {
            try Data([1]).write(to: URL(fileURLWithPath: name))
            try FileManager.default.setAttributes([.modificationDate: now - age], ofItemAtPath: name)
        }
        for name in [".17.tmp", ".x.tmp", "17.tmp", ".17", ".tmp", "state"] {
            try make(folder + "/" + name, age: 7_200)
        }
        try FileManager.default.createDirectory(
            atPath: folder + "/.20.tmp", withIntermediateDirectories: false)
        try FileManager.default.setAttributes(
            [.modificationDate: now - 7_200], ofItemAtPath: folder + "/.20.tmp")
        try make(device.folder + "/.18.tmp", age: 3_601)
        try make(device.folder + "/.19.tmp", age: 3_599)
        #expect(try device.clearUnfinished(now: now) == 2)
        #expect(try device.clearUnfinished(now: now) == 0)
        #expect(try scratch.names(folder) == [".17", ".20.tmp", ".tmp", ".x.tmp", "17.tmp", "state"])
        #expect(try scratch.names(device.folder) == [".19.tmp", "keychain"])
        // The name has the form of a writer's temporary file.
        #expect(throws: FileError.self) {
            try AtomicFile.write(to: folder + "/file") { _ throws(FileError) in
                #expect(try PrivateFolder.names(folder).count(where: AtomicFile.isTemporary) == 2)
                throw FileError(.damagedFile, path: folder, "")
            }
        }
    }

    @Test(
        "Names of apps and groups that would escape the device's folder are rejected",
        arguments: ["", ".", "..", "a/b", ".hidden"])
    func badNames(name: String) throws {
        let device = try scratch.device()
        let app = App(
            bundleIdentifier: name, teamIdentifier: "T", entitlements: Entitlements(applicationGroups: [name])
        )
        #expect(throws: FileError.self) { try device.container(of: app) }
        #expect(throws: DeviceError.self) { try device.groupContainer(name, for: app) }
    }
}

@Suite("The socket's path", .timeLimit(.minutes(10)))
struct SocketPathTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
    }

    private func device(pathLength: Int) throws -> Device {
        let base = try Device(folder: scratch.path("d")).folder
        return try Device(
            folder: base + "/" + String(repeating: "x", count: pathLength - base.utf8.count - 1))
    }

    @Test("A socket is in the device's folder if its path fits into a socket address")
    func short() throws {
        let device = try device(pathLength: 107 - "/provider.sock".utf8.count)
        let path = try device.socketPath(runtimeDirectory: nil)
        #expect(path == device.folder + "/provider.sock")
        #expect(path.utf8.count == 107)
    }

    @Test("A socket whose path is too long is in the runtime folder, named after the device's folder")
    func long() throws {
        let device = try device(pathLength: 108 - "/provider.sock".utf8.count)
        let runtime = try Device(folder: scratch.path("run")).folder
        let path = try device.socketPath(runtimeDirectory: runtime)
        #expect(path.wholeMatch(of: /.*\/run\/keyshare\/[0-9a-f]{16}\.sock/) != nil)
        #expect(try scratch.mode(runtime + "/keyshare") == 0o700)
        #expect(try device.socketPath(runtimeDirectory: runtime) == path)
        let other = try Device(folder: scratch.path("run2")).folder
        let name = String(path.split(separator: "/").last ?? "")
        let unused = try device.socketPath(runtimeDirectory: other, creatingFolder: false)
        #expect(unused == other + "/keyshare/" + name)
        #expect(!FileManager.default.fileExists(atPath: other + "/keyshare"))
    }

    @Test(
        "A socket in the runtime folder has a path only if it fits into a socket address",
        arguments: [107, 108])
    func shortened(length: Int) throws {
        let device = try device(pathLength: 200)
        let runtime = "/" + String(repeating: "r", count: length - 32)
        let path = try? device.socketPath(runtimeDirectory: runtime, creatingFolder: false)
        #expect(path?.utf8.count == (length == 107 ? 107 : nil))
    }

    @Test("A socket has no path without a runtime folder, or with one whose path is too long")
    func none() throws {
        let device = try device(pathLength: 200)
        for runtime in [nil, device.folder] {
            #expect(throws: DeviceError(.socketPathTooLong, path: "", "")) {
                try device.socketPath(runtimeDirectory: runtime)
            }
        }
    }
}
