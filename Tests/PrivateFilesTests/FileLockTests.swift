import Foundation
import Glibc
import PrivateFiles
import Synchronization
import TestSupport
import Testing

@Suite("Lock files", .timeLimit(.minutes(10)))
struct FileLockTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
    }

    @Test(
        "A folder's lock has one exclusive holder or several shared ones, and is free after their release"
    )
    func folder() throws {
        func attempt(isShared: Bool) throws -> FileLock? {
            try FileLock.acquireIfFree(folder: scratch.path, isShared: isShared)
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
        #expect(try scratch.names(scratch.path).isEmpty)
    }

    @Test("Acquiring a lock waits until the previous holder releases it")
    func waiting() async throws {
        let path = scratch.path("lock")
        let counter = Counter()
        try await withThrowingTaskGroup { group in
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<200 {
                        try FileLock.withLock(at: path) { counter.incrementSlowly() }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(counter.value == 400)
        #expect(try scratch.mode(path) == 0o600)
    }

    /// A counter that loses increments unless a lock prevents concurrent calls.
    private final class Counter: Sendable {
        private let count = Atomic(0)

        var value: Int { count.load(ordering: .relaxed) }

        func incrementSlowly() {
            let old = count.load(ordering: .relaxed)
            sched_yield()
            count.store(old + 1, ordering: .relaxed)
        }
    }

    @Test("A lock that is released is free immediately, and releasing it again has no effect")
    func release() throws {
        let path = scratch.path("lock")
        let lock = try FileLock.acquire(path)
        #expect(try FileLock.acquireIfFree(path) == nil)
        lock.release()
        let next = try #require(try FileLock.acquireIfFree(path))
        lock.release()
        #expect(try FileLock.acquireIfFree(path) == nil)
        next.release()
    }

    @Test("The holder removes its lock file unless another file has replaced it")
    func remove() throws {
        let path = scratch.path("lock")
        try FileLock.acquire(path).releaseAndRemoveFile()
        #expect(try scratch.names(scratch.path).isEmpty)
        let old = try FileLock.acquire(path)
        try FileManager.default.removeItem(atPath: path)
        let new = try #require(try FileLock.acquireIfFree(path))
        old.releaseAndRemoveFile()
        #expect(try scratch.names(scratch.path) == ["lock"])
        new.release()
    }

    @Test("A lock whose file is removed repeatedly has one holder at a time")
    func removal() async throws {
        let path = scratch.path("lock")
        let counter = Counter()
        try await withThrowingTaskGroup { group in
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<200 {
                        let lock = try FileLock.acquire(path)
                        counter.incrementSlowly()
                        lock.releaseAndRemoveFile()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(counter.value == 400)
    }

    @Test(
        "Running a function under a lock returns its result or rethrows its error, and then releases the lock"
    )
    func withLock() throws {
        struct Refusal: Error {}
        let path = scratch.path("lock")
        #expect(try FileLock.withLock(at: path) { 17 } == 17)
        #expect(throws: Refusal.self) { try FileLock.withLock(at: path) { throw Refusal() } }
        #expect(try FileLock.acquireIfFree(path) != nil)
    }

    @Test("A lock acquired for reading requires an existing file, and is exclusive")
    func forReading() throws {
        let path = scratch.path("lock")
        #expect(throws: FileError(.cannotCreate(ENOENT), path: "", "")) {
            try FileLock.acquire(path, forReading: true)
        }
        try AtomicFile.write([], to: path, mode: 0o400)
        let lock = try FileLock.acquire(path, forReading: true)
        if geteuid() == 0 { #expect(try FileLock.acquireIfFree(path) == nil) }
        lock.release()
    }

    @Test("Locking a symbolic link throws an error")
    func link() throws {
        try AtomicFile.write([], to: scratch.path("target"))
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("link"), withDestinationPath: scratch.path("target"))
        #expect(throws: FileError(.symbolicLink, path: "", "")) {
            try FileLock.acquire(scratch.path("link"))
        }
    }

    @Test("A lock is free after its holder removes the file, although the holder still exists")
    func releasedWithFile() throws {
        let path = scratch.path("lock")
        let lock = try FileLock.acquire(path)
        try FileManager.default.linkItem(atPath: path, toPath: scratch.path("other"))
        lock.releaseAndRemoveFile()
        #expect(try FileLock.acquireIfFree(scratch.path("other")) != nil)
        lock.release()
    }

    @Test("The lock of a folder is not taken through a symbolic link")
    func folderLink() throws {
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("link"), withDestinationPath: scratch.path)
        #expect(throws: FileError.self) {
            try FileLock.acquireIfFree(folder: scratch.path("link"), isShared: false)
        }
    }
}
