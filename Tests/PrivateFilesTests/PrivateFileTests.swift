import Foundation
import Glibc
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@Suite("Private files", .timeLimit(.minutes(10)))
struct PrivateFileTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
    }

    @Test("A private file is read up to the limit, as bytes and as a secret")
    func read() throws {
        try AtomicFile.write([1, 2, 3], to: scratch.path("file"))
        let path = scratch.path("file")
        #expect(try PrivateFile.open(path)?.read(atMost: 2) == [1, 2])
        #expect(try PrivateFile.open(path)?.read(atMost: .max) == [1, 2, 3])
        #expect(try PrivateFile.open(path)?.readSecret(atMost: 4) == SecretBytes([1, 2, 3]))
        #expect(try PrivateFile.sizeWithoutOpening(scratch.path("file")) == 3)
    }

    @Test("Opening or checking a missing file returns nil")
    func missing() throws {
        #expect(try PrivateFile.open(scratch.path("none"))?.read(atMost: 1) == nil)
        #expect(try PrivateFile.sizeWithoutOpening(scratch.path("none")) == nil)
    }

    @Test("Opening or checking a symbolic link to a private file throws an error")
    func link() throws {
        try AtomicFile.write([1], to: scratch.path("target"))
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("link"), withDestinationPath: scratch.path("target"))
        for look in looks { #expect(throws: FileError(.symbolicLink, path: "", "")) { try look("link") } }
    }

    @Test(
        "Opening or checking a file that other users can read or write throws an error",
        arguments: [0o640, 0o620, 0o604, 0o602] as [UInt32])
    func exposed(mode: UInt32) throws {
        try AtomicFile.write([1], to: scratch.path("file"), mode: mode)
        for look in looks { #expect(throws: FileError(.exposedFile, path: "", "")) { try look("file") } }
    }

    @Test("Opening or checking another user's file throws an error", .enabled(if: geteuid() == 0))
    func foreign() throws {
        try AtomicFile.write([1], to: scratch.path("file"))
        try #require(unsafe chown(scratch.path("file"), 65_534, 65_534) == 0)
        for look in looks { #expect(throws: FileError(.foreignOwner, path: "", "")) { try look("file") } }
    }

    @Test("A folder or a FIFO is rejected immediately, without waiting for a writer")
    func notRegular() throws {
        try #require(unsafe mkfifo(scratch.path("pipe"), 0o600) == 0)
        try PrivateFolder.make(scratch.path("folder"))
        for name in ["pipe", "folder"] {
            #expect(throws: FileError(.damagedFile, path: "", "")) {
                _ = try PrivateFile.open(scratch.path(name))
            }
            #expect(throws: FileError(.damagedFile, path: "", "")) {
                _ = try PrivateFile.sizeWithoutOpening(scratch.path(name))
            }
        }
    }

    @Test(
        "A wiped file has its previous length and contains only zeroes, and its modification time can be set")
    func wipe() throws {
        let path = scratch.path("file")
        try AtomicFile.write(
            [UInt8](repeating: 7, count: 70_000), to: path, changed: (seconds: 1_700_000_000, nanoseconds: 5))
        let changed = try PrivateFile.open(path)?.changed()
        #expect(changed?.seconds == 1_700_000_000 && changed?.nanoseconds == 5)
        try PrivateFile.open(path, isWritable: true)?.wipe()
        #expect(try scratch.read("file") == [UInt8](repeating: 0, count: 70_000))
    }

    @Test("A closed descriptor and a missing file have no identity")
    func noIdentity() throws {
        #expect(FileIdentity(descriptor: -1) == nil)
        #expect(FileIdentity(path: scratch.path("missing")) == nil)
        #expect(FileIdentity(following: scratch.path("missing")) == nil)
    }

    private var looks: [(String) throws -> Void] {
        [
            { _ = try PrivateFile.open(scratch.path($0)) },
            { _ = try PrivateFile.sizeWithoutOpening(scratch.path($0)) },
        ]
    }

    @Test("A file is overwritten only with bytes of the same length")
    func overwriting() throws {
        let scratch = try ScratchFolder()
        let path = scratch.path("number")
        try AtomicFile.write([1, 2, 3], to: path)
        for (bytes, isWritten) in [([4, 5], false), ([6, 7, 8, 9], false), ([7, 8, 9], true)]
            as [([UInt8], Bool)]
        {
            guard let file = try PrivateFile.open(path, isWritable: true) else {
                Issue.record("the file is gone")
                return
            }
            #expect(try file.overwrite(bytes) == isWritten)
            #expect(try scratch.read("number") == (isWritten ? bytes : [1, 2, 3]))
        }
    }

    @Test("Overwriting a file that was opened for reading throws an error, and the file is unchanged")
    func readOnly() throws {
        try AtomicFile.write([1, 2, 3], to: scratch.path("file"))
        guard let file = try PrivateFile.open(scratch.path("file")) else {
            Issue.record("the file is gone")
            return
        }
        let error = FileError(.inputOutput(EBADF), path: "", "")
        #expect(throws: error) { try file.overwrite([4, 5, 6]) }
        #expect(throws: error) { try file.wipe() }
        #expect(try file.read(atMost: 3) == [1, 2, 3])
    }

    @Test("A path through a file is an error, not a missing file")
    func throughFile() throws {
        try AtomicFile.write([1], to: scratch.path("file"))
        for look in looks {
            #expect(throws: FileError(.inputOutput(ENOTDIR), path: "", "")) { try look("file/inside") }
        }
    }
}
