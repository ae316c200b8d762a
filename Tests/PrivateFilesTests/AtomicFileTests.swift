import Foundation
import Glibc
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@Suite("Atomic files", .timeLimit(.minutes(10)))
struct AtomicFileTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
    }

    @Test(
        "A written file has the requested bytes and mode, regardless of an existing file",
        arguments: [0o600, 0o644] as [UInt32])
    func write(mode: UInt32) throws {
        let path = scratch.path("file")
        try AtomicFile.write([1, 2, 3], to: path)
        try AtomicFile.write([4], to: path, mode: mode)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data([4]))
        #expect(try scratch.mode(path) == Int(mode))
        try AtomicFile.write(to: path, mode: mode ^ 0o040) { _ in }
        #expect(try scratch.mode(path) == Int(mode ^ 0o040))
        try AtomicFile.write(SecretBytes(utf8: ""), to: path)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
        #expect(try scratch.names(scratch.path) == ["file"])
    }

    @Test(
        "An existing file is kept if replacing is not allowed, for bytes, a secret and a function"
    )
    func notReplacing() throws {
        let path = scratch.path("file")
        try AtomicFile.write([1], to: path, replacing: false)
        let taken = FileError(.alreadyThere, path: "", "")
        #expect(throws: taken) { try AtomicFile.write([2], to: path, replacing: false) }
        #expect(throws: taken) { try AtomicFile.write(SecretBytes([2]), to: path, replacing: false) }
        #expect(throws: taken) { try AtomicFile.write(to: path, replacing: false) { _ in } }
        #expect(try scratch.read("file") == [1] && scratch.names(scratch.path) == ["file"])
    }

    @Test("A file that another user puts in place of the temporary file gets neither the bytes nor the name")
    func swapped() throws {
        try AtomicFile.write([1], to: scratch.path("file"))
        let folder = scratch.path
        var written: FileIdentity?
        #expect(throws: FileError(.foreignEntry, path: "", "")) {
            try AtomicFile.write(to: folder + "/file") { descriptor throws(FileError) in
                let temporary = try PrivateFolder.names(folder).first(where: AtomicFile.isTemporary) ?? ""
                try AtomicFile.write([2], to: folder + "/theirs", mode: 0o666)
                #expect(unsafe rename(folder + "/theirs", folder + "/" + temporary) == 0)
                try OpenFile.write([3], to: descriptor, named: "file")
                written = FileIdentity(path: folder + "/" + temporary)
            }
        }
        #expect(written?.size == 1)
        #expect(try scratch.read("file") == [1] && scratch.names(folder) == ["file"])
    }

    @Test(
        "A temporary name consists of a dot, a number and .tmp",
        arguments: [
            (".17.tmp", true), (".18446744073709551615.tmp", true), (".18446744073709551616.tmp", false),
            (".x.tmp", false), ("17.tmp", false), (".17", false), (".tmp", false), ("..tmp", false),
        ])
    func temporary(name: String, isTemporary: Bool) {
        #expect(AtomicFile.isTemporary(name) == isTemporary)
    }

    @Test("A file is removed, and removing a missing file is not an error")
    func remove() throws {
        try AtomicFile.write([1], to: scratch.path("file"))
        for _ in 0..<2 { try AtomicFile.remove(scratch.path("file")) }
        #expect(try scratch.names(scratch.path).isEmpty)
    }

    @Test("A symbolic link is replaced, and its target does not change")
    func link() throws {
        try AtomicFile.write([1], to: scratch.path("target"))
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("link"), withDestinationPath: scratch.path("target"))
        try AtomicFile.write([2], to: scratch.path("link"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.path("target"))) == Data([1]))
        #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.path("link"))) == Data([2]))
    }

    @Test("A failed write keeps the existing file and leaves no temporary file")
    func failure() throws {
        try FileManager.default.createDirectory(
            atPath: scratch.path("folder/inside"), withIntermediateDirectories: true)
        let error = #expect(throws: FileError.self) {
            try AtomicFile.write([1], to: scratch.path("folder"))
        }
        #expect(error?.code == .inputOutput(EISDIR))
        #expect(try scratch.names(scratch.path) == ["folder"])
        #expect(throws: FileError(.cannotCreate(ENOENT), path: "", "")) {
            try AtomicFile.write([1], to: scratch.path("nowhere/file"))
        }
    }

    @Test("A reader always sees a complete file during concurrent writes")
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
        #expect(try scratch.names(scratch.path) == ["file"])
    }

    @Test("A folder cannot be removed as a file, and a missing folder of the target is not a taken name")
    func classification() throws {
        try PrivateFolder.make(scratch.path("folder"))
        #expect(throws: FileError(.inputOutput(EISDIR), path: "", "")) {
            try AtomicFile.remove(scratch.path("folder"))
        }
        #expect(throws: FileError(.cannotCreate(ENOENT), path: "", "")) {
            try AtomicFile.write(to: scratch.path("folder/file"), replacing: false) { _ throws(FileError) in
                try PrivateFolder.removeAll(scratch.path("folder"))
            }
        }
    }
}
