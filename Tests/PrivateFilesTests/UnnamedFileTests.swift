import Foundation
import Glibc
import PrivateFiles
import TestSupport
import Testing

@Suite("Files without a name", .timeLimit(.minutes(10)))
struct UnnamedFileTests {
    private let scratch: ScratchFolder
    private let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }

    init() throws { scratch = try ScratchFolder() }

    private func file() throws -> UnnamedFile {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(bytes)
        return file
    }

    @Test("The file has no name in its folder, and stores the written bytes")
    func nameless() throws {
        let file = try file()
        #expect(try scratch.names(scratch.path) == [])
        try file.rewind()
        var read: [UInt8] = []
        while true {
            let chunk = try OpenFile.read(file.descriptor, named: "file")
            if chunk.isEmpty { break }
            read += chunk
        }
        #expect(read == bytes)
        #expect(throws: FileError.self) { try UnnamedFile(in: scratch.path("nowhere")) }
    }

    @Test(
        "Copying the contents to a path creates a file of mode 0600, and replaces an existing file only if requested"
    )
    func output() throws {
        let file = try file()
        let path = scratch.path("output")
        try OutputFile.write(contentsOf: file.descriptor, to: path, replacing: false)
        #expect(try scratch.read("output") == bytes)
        #expect(try scratch.mode(path) == 0o600)
        #expect(throws: FileError(.alreadyThere, path: path, "")) {
            try OutputFile.write(contentsOf: file.descriptor, to: path, replacing: false)
        }
        _ = try scratch.write([1], as: "output")
        try OutputFile.write(contentsOf: file.descriptor, to: path)
        #expect(try scratch.read("output") == bytes)
        #expect(try scratch.names(scratch.path) == ["output"])
    }

    @Test("A library can write the file by a path in a private folder, which is removed")
    func named() throws {
        let file = try UnnamedFile(in: scratch.path) { path in
            #expect(FileIdentity(path: PrivateFolder.parent(of: path))?.isExposed == false)
            try AtomicFile.write(bytes, to: path, mode: 0o644)
        }
        #expect(try scratch.names(scratch.path) == [])
        try OutputFile.write(contentsOf: file.descriptor, to: scratch.path("copy"))
        #expect(try scratch.read("copy") == bytes)
        for failure in [FileError(.damagedFile, path: "", ""), nil] {
            #expect(throws: FileError.self) {
                try UnnamedFile(in: scratch.path) { _ in if let failure { throw failure } }
            }
        }
        #expect(try scratch.names(scratch.path) == ["copy"])
    }

    @Test("The contents can be added to a new folder as a file")
    func folder() throws {
        let file = try file()
        let folder = try NewFolder(scratch.path("folder"), replacing: nil)
        try folder.add(contentsOf: file.descriptor, as: "a")
        try folder.publish()
        #expect(try scratch.read("folder/a") == bytes)
    }

    @Test("Only the owner has access to the file, and errors of reading and writing are reported")
    func access() throws {
        let file = try UnnamedFile(in: scratch.path)
        #expect(FileIdentity(descriptor: file.descriptor)?.isExposed == false)
        #expect(throws: FileError(.inputOutput(EBADF), path: "", "")) { try OpenFile.read(-1, named: "file") }
        #expect(throws: FileError(.inputOutput(EBADF), path: "", "")) {
            try OpenFile.write([1], to: -1, named: "file")
        }
        try file.write(bytes)
        let target = try UnnamedFile(in: scratch.path)
        #expect(try OpenFile.copy(file.descriptor, to: target.descriptor, named: "file") == bytes.count)
    }
}
