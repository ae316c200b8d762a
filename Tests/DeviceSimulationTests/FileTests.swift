import SecretMemory
import Foundation
import Glibc
import OpenSSL
import Synchronization
import Testing

@testable import DeviceSimulation

@Suite("Atomic files")
struct AtomicFileTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    @Test(
        "A file has the bytes and the mode asked for, whatever was there",
        arguments: [0o600, 0o644] as [UInt32])
    func write(mode: UInt32) throws {
        let path = scratch.path("file")
        try AtomicFile.write([1, 2, 3], to: path)
        try AtomicFile.write([4], to: path, mode: mode)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data([4]))
        #expect(try scratch.mode(path) == Int(mode))
        try AtomicFile.write(SecretBytes(utf8: ""), to: path)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
        #expect(try scratch.names(scratch.folder) == ["file"])
    }

    @Test("What killed writers left half done is removed once nobody can be writing it, and nothing else is")
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
        try make(device.folder + "/.18.tmp", age: 3_601)
        try make(device.folder + "/.19.tmp", age: 3_599)
        #expect(try device.clearUnfinished(now: now) == 2)
        #expect(try device.clearUnfinished(now: now) == 0)
        #expect(try scratch.names(folder) == [".17", ".tmp", ".x.tmp", "17.tmp", "state"])
        #expect(try scratch.names(device.folder) == [".19.tmp", "keychain"])
        // What a writer leaves has such a name.
        #expect(throws: DeviceError.self) {
            try AtomicFile.write(to: folder + "/file", replacing: true) { path in
                #expect(AtomicFile.isTemporary(URL(fileURLWithPath: path).lastPathComponent))
                throw DeviceError(.damagedFile, path: path, "")
            }
        }
    }

    @Test("A link is replaced, what it points to stays")
    func link() throws {
        try AtomicFile.write([1], to: scratch.path("target"))
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("link"), withDestinationPath: scratch.path("target"))
        try AtomicFile.write([2], to: scratch.path("link"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.path("target"))) == Data([1]))
        #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.path("link"))) == Data([2]))
    }

    @Test("A failure leaves what was there, and nothing else")
    func failure() throws {
        try FileManager.default.createDirectory(
            atPath: scratch.path("folder/inside"), withIntermediateDirectories: true)
        let error = #expect(throws: DeviceError.self) {
            try AtomicFile.write([1], to: scratch.path("folder"))
        }
        #expect(error?.code == .inputOutput(EISDIR))
        #expect(try scratch.names(scratch.folder) == ["folder"])
        #expect(throws: DeviceError(.cannotCreate(ENOENT), path: "", "")) {
            try AtomicFile.write([1], to: scratch.path("nowhere/file"))
        }
    }

    @Test("Whoever reads while others write sees one whole file")
    func torn() async throws {
        let path = scratch.path("file")
        try AtomicFile.write([UInt8](repeating: 0, count: 10_000), to: path)
        try await withThrowingTaskGroup { group in
            for value in 1...3 as ClosedRange<UInt8> {
                group.addTask {
                    for _ in 0..<20 {
                        try AtomicFile.write([UInt8](repeating: value, count: 10_000), to: path)
                    }
                }
            }
            group.addTask {
                for _ in 0..<200 {
                    let data = try Data(contentsOf: URL(fileURLWithPath: path))
                    #expect(data.count == 10_000 && Set(data).count == 1)
                }
            }
            try await group.waitForAll()
        }
        #expect(try scratch.names(scratch.folder) == ["file"])
    }
}

@Suite("Lock files")
struct FileLockTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    @Test("A folder's lock is one holder's or many's, and free when they let go")
    func folder() throws {
        func attempt(isShared: Bool) throws -> FileLock? {
            try FileLock.attempt(folder: scratch.folder, isShared: isShared)
        }
        var shared = [try #require(try attempt(isShared: true)), try #require(try attempt(isShared: true))]
        #expect(try attempt(isShared: false) == nil)
        shared.removeLast()
        #expect(try attempt(isShared: false) == nil)
        shared = []
        var only = try attempt(isShared: false)
        #expect(only != nil)
        #expect(try attempt(isShared: true) == nil && attempt(isShared: false) == nil)
        only = nil
        #expect(try attempt(isShared: true) != nil)
        #expect(try scratch.names(scratch.folder).isEmpty)
    }

    @Test("Waiting for a lock ends when it is let go")
    func waiting() async throws {
        let path = scratch.path("lock")
        let counter = Counter()
        try await withThrowingTaskGroup { group in
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<200 {
                        let lock = try FileLock.acquire(path)
                        counter.incrementSlowly()
                        withExtendedLifetime(lock) {}
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(counter.value == 400)
        #expect(try scratch.mode(path) == 0o600)
    }

    /// A counter that loses counts unless a lock outside keeps its users apart.
    private final class Counter: Sendable {
        private let count = Atomic(0)

        var value: Int { count.load(ordering: .relaxed) }

        func incrementSlowly() {
            let old = count.load(ordering: .relaxed)
            sched_yield()
            count.store(old + 1, ordering: .relaxed)
        }
    }

    @Test("A link is no lock file")
    func link() throws {
        try AtomicFile.write([], to: scratch.path("target"))
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("link"), withDestinationPath: scratch.path("target"))
        #expect(throws: DeviceError(.symbolicLink, path: "", "")) {
            try FileLock.acquire(scratch.path("link"))
        }
    }
}
