import Foundation
import Glibc
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("App groups", .timeLimit(.minutes(10)))
struct AppGroupTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let group: AppGroup
    private static let identifier = App.providerGroup

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
        group = try AppGroup(Self.identifier, app: .provider, device: device)
    }

    @Test("The apps of a group share files, and other apps cannot open the group")
    func members() throws {
        try group.write([1, 2], to: "file")
        for member in [App.providerFiles, .providerInterface] {
            let theirs = try AppGroup(Self.identifier, app: member, device: device)
            #expect(try theirs.read("file") == [1, 2])
        }
        #expect(throws: DeviceError(.missingEntitlement(Self.identifier), path: "", "")) {
            try AppGroup(Self.identifier, app: .consumer, device: device)
        }
    }

    @Test("A group's files are read, replaced, changed and removed")
    func files() throws {
        #expect(try group.read("file") == nil)
        try group.write([1], to: "file")
        try group.update("file") { $0?.append(2) }
        #expect(try group.read("file") == [1, 2])
        try group.update("other") { bytes in
            #expect(bytes == nil)
            bytes = []
        }
        #expect(try group.names() == ["file", "other"])
        try group.update("file") { $0 = nil }
        for _ in 0..<2 { try group.remove("other") }
        #expect(try group.names().isEmpty)
        #expect(try scratch.mode(group.folder) == 0o700)
    }

    @Test("A change that leaves the content unchanged does not write the file")
    func unchanged() throws {
        try group.write([1], to: "file")
        let path = group.folder + "/file"
        func number() throws -> UInt64? {
            try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? UInt64
        }
        let before = try number()
        try group.update("file") { $0 = [1] }
        #expect(try number() == before)
        try group.update("file") { $0 = [2] }
        #expect(try number() != before)
    }

    @Test("A failed change does not modify the file")
    func failedUpdate() throws {
        struct Failure: Error {}
        try group.write([1], to: "file")
        #expect(throws: Failure.self) {
            try group.update("file") { bytes in
                bytes = nil
                throw Failure()
            }
        }
        #expect(try group.read("file") == [1])
    }

    @Test(
        "File names that escape the group's folder are rejected",
        arguments: ["", ".", "..", ".lock", "a/b", "a\0"])
    func badNames(name: String) throws {
        #expect(throws: FileError(.cannotCreate(EINVAL), path: "", "")) { try group.write([1], to: name) }
        #expect(throws: FileError(.cannotCreate(EINVAL), path: "", "")) { try group.read(name) }
        #expect(throws: FileError(.cannotCreate(EINVAL), path: "", "")) { try group.remove(name) }
    }

    @Test("Eight processes that increment a counter in one group file lose no increment")
    func processes() async throws {
        let folder = device.folder
        try await withThrowingTaskGroup { tasks in
            for _ in 0..<8 {
                tasks.addTask {
                    await #expect(processExitsWith: .success) { [folder = folder as String] in
                        let device = try Device(folder: folder)
                        let group = try AppGroup(
                            App.providerGroup, app: .provider, device: device)
                        for _ in 0..<100 {
                            try group.update("count") { bytes in
                                let count = bytes.map { Int(String(decoding: $0, as: UTF8.self)) ?? 0 } ?? 0
                                bytes = Array("\(count + 1)".utf8)
                            }
                            let text = String(decoding: try group.read("count") ?? [], as: UTF8.self)
                            try #require(Int(text) ?? 0 > 0)
                        }
                    }
                }
            }
            try await tasks.waitForAll()
        }
        #expect(try group.read("count") == Array("800".utf8))
        #expect(try scratch.names(group.folder) == [".lock", "count"])
    }

    @Test("Cleanup removes a group's old and half-written files, and keeps its settings")
    func retention() throws {
        let key = DefaultsKey("n", fallback: 0)
        try GroupDefaults(group).set(key, to: 1)
        for name in ["old", "new"] { try group.write([1], to: name) }
        let longAgo = Date(timeIntervalSince1970: 1_000_000_000)
        for name in ["old", "defaults.plist"] {
            try FileManager.default.setAttributes(
                [.modificationDate: longAgo], ofItemAtPath: group.folder + "/" + name)
        }
        try Data([1]).write(to: URL(fileURLWithPath: group.folder + "/.123.tmp"))
        #expect(try group.removeFiles(unchangedSince: longAgo) == [])
        #expect(try group.removeFiles(unchangedSince: longAgo + 1) == ["old"])
        #expect(try scratch.names(group.folder) == [".lock", "defaults.plist", "new"])
        #expect(try GroupDefaults(group)[key] == 1)
        try group.removeAll()
        #expect(try group.names().isEmpty)
    }

    @Test("A renamed group takes over the old group's files, but keeps its own file of the same name")
    func takeOver() throws {
        let app = App(
            bundleIdentifier: "app", teamIdentifier: "T",
            entitlements: Entitlements(applicationGroups: ["group.old", "group.new"]))
        let old = try AppGroup("group.old", app: app, device: device)
        let new = try AppGroup("group.new", app: app, device: device)
        for name in ["a", "b", "c"] { try old.write(Array("old \(name)".utf8), to: name) }
        try new.write(Array("new b".utf8), to: "b")
        #expect(try new.takeOver(old) == ["a", "c"])
        #expect(try old.names().isEmpty)
        #expect(
            try new.names().map { String(decoding: try new.read($0) ?? [], as: UTF8.self) } == [
                "old a", "new b", "old c",
            ])
        #expect(try new.takeOver(old).isEmpty)
        #expect(try new.takeOver(new).isEmpty)
        #expect(try new.names().count == 3)
    }

    /// Two groups of one app; the second is the new name of the first.
    private func renamed() throws -> (old: AppGroup, new: AppGroup) {
        let app = App(
            bundleIdentifier: "app", teamIdentifier: "T",
            entitlements: Entitlements(applicationGroups: ["group.old", "group.new"]))
        return (
            try AppGroup("group.old", app: app, device: device),
            try AppGroup("group.new", app: app, device: device)
        )
    }

    private func text(_ group: AppGroup, _ name: String) throws -> String? {
        try group.read(name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Restores the old group's state before a move, as if the move had been killed between copying and
    /// removing.
    private func interruptedMove(of name: String, from old: AppGroup, to new: AppGroup) throws {
        let aside = scratch.path("aside")
        try FileManager.default.copyItem(atPath: old.folder + "/" + name, toPath: aside)
        try new.takeOver(old)
        try FileManager.default.moveItem(atPath: aside, toPath: old.folder + "/" + name)
    }

    @Test("A file that is written to the old group after a move was interrupted is not lost")
    func writeAfterInterruption() throws {
        let (old, new) = try renamed()
        try old.write(Array("one".utf8), to: "file")
        // Long ago, so that the next write is newer by any clock.
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        try FileManager.default.setAttributes(
            [.modificationDate: date], ofItemAtPath: old.folder + "/file")
        try interruptedMove(of: "file", from: old, to: new)
        let attributes = try FileManager.default.attributesOfItem(atPath: new.folder + "/file")
        #expect(attributes[.modificationDate] as? Date == date)
        try old.write(Array("two".utf8), to: "file")
        #expect(try new.takeOver(old) == ["file"])
        #expect(try text(new, "file") == "two" && old.names().isEmpty)
        // A file that is written in the new group is not replaced by an older one.
        try old.write(Array("three".utf8), to: "file")
        try interruptedMove(of: "file", from: old, to: new)
        try new.write(Array("four".utf8), to: "file")
        #expect(try new.takeOver(old).isEmpty)
        #expect(try text(new, "file") == "four" && old.names().isEmpty)
    }

    @Test(
        "Settings are moved key by key, even after an interruption, and keep the new group's own values"
    )
    func settingsTakeOver() throws {
        let (old, new) = try renamed()
        let keys = ["a", "b", "c"].map { DefaultsKey($0, fallback: 0) }
        func set(_ group: AppGroup, _ values: Int?...) throws {
            for (key, value) in zip(keys, values) where value != nil {
                try GroupDefaults(group).set(key, to: value)
            }
        }
        func values() throws -> [Int] { try keys.map { try GroupDefaults(new)[$0] } }
        try set(new, 9)
        try set(old, 1, 2)
        #expect(try new.takeOver(old) == ["defaults.plist"])
        #expect(try values() == [9, 2, 0])
        #expect(try scratch.names(new.folder) == [".lock", "defaults.plist"])
        #expect(try old.names().isEmpty)
        // Interrupted: the old group still has the moved values, and the file of the merge still exists.
        try set(old, 1, 3, 4)
        let before = try #require(try old.read("defaults.plist"))
        try new.write(Array(before), to: "defaults.plist")
        try AtomicFile.write(before, to: new.folder + "/.taken.plist")
        try set(new, nil, 7)
        try set(old, 5, 6)
        #expect(try new.takeOver(old) == ["defaults.plist"])
        #expect(try values() == [5, 7, 4])
        #expect(try scratch.names(new.folder) == [".lock", "defaults.plist"])
        // A file that is not a list of settings removes no setting.
        try old.write([1, 2, 3], to: "defaults.plist")
        try new.takeOver(old)
        #expect(try values() == [5, 7, 4])
        try set(old, 1)
        try new.write([1, 2, 3], to: "defaults.plist")
        try new.takeOver(old)
        #expect(try values() == [1, 0, 0])
        try AtomicFile.write(before, to: new.folder + "/.taken.plist")
        try new.removeAll()
        #expect(try scratch.names(new.folder) == [".lock"])
    }

    @Test("Uninstalling an app removes its files and its extensions' files, but no other app's files")
    func uninstallExtensions() throws {
        func app(_ name: String) -> App {
            App(bundleIdentifier: name, teamIdentifier: "T", entitlements: Entitlements())
        }
        let names = ["a", "a.files", "a.interface", "a.pro", "a.pro.files", "ab"]
        for name in names {
            try AtomicFile.write([1], to: device.container(of: app(name)) + "/file")
        }
        try device.uninstall(app("a"), remaining: [app("a.pro"), app("ab")])
        #expect(try scratch.names(device.folder + "/containers") == ["a.pro", "a.pro.files", "ab"])
        // Only an extension; its app remains.
        try device.uninstall(app("a.pro.files"), remaining: [app("a.pro")])
        #expect(try scratch.names(device.folder + "/containers") == ["a.pro", "ab"])
    }

    @Test(
        "Uninstalling removes the app's files but no keychain items; the last app's removal also deletes the group's files"
    )
    func uninstall() throws {
        try group.write([1], to: "file")
        let own = try device.container(of: .provider)
        try AtomicFile.write([1], to: own + "/file")
        let keychain = try Keychain(device: device, app: .provider)
        try keychain.setPassword(SecretBytes(utf8: "p"), service: "s", account: "a")
        try device.uninstall(.provider, remaining: [.providerFiles, .consumer])
        #expect(try scratch.names(device.container(of: .provider)).isEmpty)
        #expect(try group.read("file") == [1])
        try device.uninstall(.provider, remaining: [.consumer])
        #expect(try AppGroup(Self.identifier, app: .provider, device: device).names().isEmpty)
        #expect(try keychain.password(service: "s", account: "a") != nil)
    }
}

@Suite("A group's settings", .timeLimit(.minutes(10)))
struct GroupDefaultsTests {
    private let scratch: ScratchFolder
    private let group: AppGroup
    private let defaults: GroupDefaults
    private let count = DefaultsKey("count", fallback: 7) { $0 > 0 }

    init() throws {
        scratch = try ScratchFolder()
        group = try AppGroup(
            App.providerGroup, app: .provider, device: scratch.device())
        defaults = GroupDefaults(group)
    }

    @Test("A setting returns its fallback value before it is set and after it is removed")
    func set() throws {
        #expect(try defaults.look(up: count) == (7, .absent))
        try defaults.set(count, to: 3)
        #expect(try defaults.look(up: count) == (3, .stored))
        try defaults.set(count, to: nil)
        #expect(try defaults.look(up: count) == (7, .absent))
    }

    @Test("A setting can store every type that a property list supports")
    func types() throws {
        try check("text", "ü", fallback: "")
        try check("yes", true, fallback: false)
        try check("number", 1.5, fallback: 0)
        try check("date", Date(timeIntervalSince1970: 1_800_000_000), fallback: .distantPast)
        try check("data", Data([1, 2]), fallback: Data())
        try check("list", ["a", "b"], fallback: [])
        try check("map", ["a": [1, 2]], fallback: [:])
    }

    private func check<Value: Codable & Sendable & Equatable>(
        _ name: String, _ value: Value, fallback: Value
    ) throws {
        let key = DefaultsKey(name, fallback: fallback)
        try defaults.set(key, to: value)
        #expect(try defaults[key] == value)
    }

    @Test("A value that a setting does not allow is rejected, and the previous value is kept")
    func refused() throws {
        try defaults.set(count, to: 3)
        #expect(throws: DeviceError(.invalidValue, path: "", "")) { try defaults.set(count, to: 0) }
        #expect(try defaults[count] == 3)
    }

    @Test("Reading an unusable stored value returns the fallback and the reason")
    func badStored() throws {
        try defaults.set(DefaultsKey("count", fallback: ""), to: "many")
        #expect(try defaults.look(up: count) == (7, .wrongType))
        try defaults.set(DefaultsKey("count", fallback: 0), to: -1)
        #expect(try defaults.look(up: count) == (7, .invalid))
        try group.write([1, 2, 3], to: "defaults.plist")
        #expect(try defaults.look(up: count) == (7, .damagedFile))
        // The mapping and the lists are the containers.
        for (lists, source) in [(63, DefaultsSource.absent), (64, .damagedFile)] {
            let text =
                "<plist><dict><key>a</key><array>\(String(repeating: "<array/>", count: lists - 1))</array></dict></plist>"
            try group.write(Array(text.utf8), to: "defaults.plist")
            #expect(try defaults.look(up: count) == (7, source))
        }
        try defaults.set(count, to: 5)
        #expect(try defaults.look(up: count) == (5, .stored))
    }

    @Test("Setting a value does not change the values that other apps set")
    func others() throws {
        let text = """
            <plist version="1.0"><dict><key>theirs</key><array><true/><date>2030-01-01T00:00:00Z</date>\
            <integer>-1</integer><integer>18446744073709551615</integer><real>2.5</real><data>AQI=</data>\
            <string>ü</string><array/><dict><key>a</key><false/></dict></array></dict></plist>
            """
        try group.write(Array(text.utf8), to: "defaults.plist")
        try defaults.set(count, to: 3)
        let file = String(decoding: try #require(try group.read("defaults.plist")), as: UTF8.self)
        let elements = file.split(separator: "\n").map { $0.trimmingPrefix { $0 == "\t" } }.joined()
        #expect(elements.contains("<key>count</key><integer>3</integer>"))
        #expect(
            elements.contains(
                """
                <key>theirs</key><array><true/><date>2030-01-01T00:00:00Z</date><integer>-1</integer>\
                <integer>18446744073709551615</integer><real>2.5</real><data>AQI=</data><string>ü</string><array/>\
                <dict><key>a</key><false/></dict></array>
                """), "\(file)")
    }
}
