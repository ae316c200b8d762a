import Foundation
import Glibc
import PrivateFiles
import TestSupport
import Testing

@Suite("Private folders", .timeLimit(.minutes(10)))
struct PrivateFolderTests {
    private let scratch: ScratchFolder
    private let path: String

    init() throws {
        scratch = try ScratchFolder()
        path = scratch.path("folder")
    }

    @Test("Both functions create a missing folder with mode 0700")
    func new() throws {
        #expect(try !PrivateFolder.isThere(path))
        try PrivateFolder.make(path)
        try PrivateFolder.makeOrRequireClosed(scratch.path("other"))
        #expect(try scratch.mode(path) == 0o700 && scratch.mode(scratch.path("other")) == 0o700)
        #expect(try PrivateFolder.isThere(path))
    }

    @Test("Missing parent folders are created only if requested")
    func parents() throws {
        #expect(throws: FileError(.cannotCreate(ENOENT), path: "", "")) {
            try PrivateFolder.make(path + "/a/b")
        }
        try PrivateFolder.make(path + "/a/b", withParents: true)
        #expect(try scratch.mode(path) == 0o700 && scratch.mode(path + "/a") == 0o700)
    }

    @Test(
        "make removes other users' access to the user's folder, and makeOrRequireClosed rejects such a folder unchanged"
    )
    func open() throws {
        try makeOpen()
        #expect(throws: FileError(.exposedFolder, path: "", "")) {
            try PrivateFolder.makeOrRequireClosed(path)
        }
        #expect(try scratch.mode(path) == 0o755)
        try PrivateFolder.make(path)
        #expect(try scratch.mode(path) == 0o700)
    }

    @Test("An existing folder that its owner cannot write to remains read-only")
    func readOnly() throws {
        try PrivateFolder.make(path)
        #expect(unsafe chmod(path, 0o555) == 0)
        try PrivateFolder.make(path)
        #expect(try scratch.mode(path) == 0o500)
        #expect(unsafe chmod(path, 0o700) == 0)
    }

    @Test(
        "A marker that belongs to another user is ignored", .enabled(if: geteuid() == 0, "requires root"))
    func foreignMarker() throws {
        try makeOpen()
        try PrivateFolder.make(path + "/keychain")
        #expect(unsafe chown(path + "/keychain", 65_534, 65_534) == 0)
        #expect(throws: FileError(.exposedFolder, path: "", "")) {
            try PrivateFolder.make(path, marker: "keychain")
        }
        #expect(try scratch.mode(path) == 0o755)
    }

    @Test("A folder with contents that others can access is changed only if it contains the marker")
    func marker() throws {
        try makeOpen()
        try AtomicFile.write([1], to: path + "/notes")
        #expect(throws: FileError(.exposedFolder, path: "", "")) {
            try PrivateFolder.make(path, marker: "keychain")
        }
        #expect(try scratch.mode(path) == 0o755)
        try PrivateFolder.make(path + "/keychain")
        try PrivateFolder.make(path, marker: "keychain")
        #expect(try scratch.mode(path) == 0o700)
    }

    @Test("A symbolic link, a file and another user's folder are rejected by every function")
    func refused() throws {
        var refused: [(String, FileError.Code)] = [
            (scratch.path("link"), .symbolicLink), (scratch.path("link") + "/", .symbolicLink),
            (scratch.path("file"), .notAFolder),
        ]
        try PrivateFolder.make(path)
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("link"), withDestinationPath: path)
        try AtomicFile.write([1], to: scratch.path("file"))
        if geteuid() == 0 {
            try PrivateFolder.make(scratch.path("theirs"))
            try #require(unsafe chown(scratch.path("theirs"), 65_534, 65_534) == 0)
            refused.append((scratch.path("theirs"), .foreignOwner))
        }
        for (path, code) in refused {
            let expected = FileError(code, path: "", "")
            #expect(throws: expected, "\(path)") { try PrivateFolder.make(path) }
            #expect(throws: expected, "\(path)") { try PrivateFolder.makeOrRequireClosed(path) }
            #expect(throws: expected, "\(path)") { try PrivateFolder.isThere(path) }
        }
    }

    @Test(
        "The parent of a path is the part before its last slash",
        arguments: [("/a/b", "/a"), ("/a", "/"), ("a", "."), ("a/b", "a"), ("/", "/")])
    func parent(path: String, parent: String) {
        #expect(PrivateFolder.parent(of: path) == parent)
    }

    @Test(
        "The name of a file is the part after the last slash, even if a combining mark follows the slash",
        arguments: [
            ("/a/b", "b"), ("a", "a"), ("a/", "a"), ("../\u{301}b", "\u{301}b"), ("/", nil), ("", nil),
        ])
    func name(path: String, name: String?) {
        #expect(PrivateFolder.name(of: path) == name)
    }

    @Test(
        "A name that leads to another folder, is hidden or is too long is not a plain name",
        arguments: [
            ("a", true), ("a.b", true), (String(repeating: "n", count: 255), true), ("", false), (".", false),
            ("..", false), (".a", false), ("a/b", false), ("a\0b", false),
            (String(repeating: "n", count: 256), false),
        ])
    func plainName(name: String, isPlain: Bool) {
        #expect(PrivateFolder.isPlainName(name) == isPlain)
    }

    @Test("A folder is removed with all its contents, and removing a missing folder is an error")
    func removeAll() throws {
        try PrivateFolder.make(path + "/a/b", withParents: true)
        try PrivateFolder.removeAll(path)
        #expect(try PrivateFolder.names(scratch.path).isEmpty)
        #expect(throws: FileError(.inputOutput(ENOENT), path: "", "")) { try PrivateFolder.removeAll(path) }
    }

    @Test("Removal does not follow links, and also removes names that are not UTF-8")
    func removedLinks() throws {
        try PrivateFolder.make(path + "/a", withParents: true)
        try PrivateFolder.make(scratch.path("kept"))
        try AtomicFile.write([1], to: scratch.path("kept/file"))
        for link in ["/link", "/a/link"] {
            try FileManager.default.createSymbolicLink(
                atPath: path + link, withDestinationPath: scratch.path("kept"))
        }
        let name = Array(path.utf8CString.dropLast()) + [0x2F, CChar(truncatingIfNeeded: 0xFF), 0]
        try #require(unsafe mkdir(name, 0o700) == 0)
        try PrivateFolder.removeAll(path + "/link/")
        #expect(throws: FileError(.inputOutput(ENOENT), path: "", "")) {
            try PrivateFolder.removeAll(path + "/link")
        }
        try PrivateFolder.removeAll(path)
        #expect(try PrivateFolder.names(scratch.path) == ["kept"])
        #expect(try PrivateFolder.names(scratch.path("kept")) == ["file"])
    }

    @Test("Removal is not limited by the number of nested folders or the length of their path")
    func removedLevels() throws {
        try scratch.shell(
            """
            mkdir folder; cd folder
            python3 -c 'import os
            for _ in range(3000):
                os.mkdir("d"); os.mkdir("other"); os.chdir("d")'
            """)
        try PrivateFolder.removeAll(path)
        #expect(try !PrivateFolder.isThere(path))
    }

    @Test(
        "Removal also removes subfolders that their owner cannot read or change",
        .enabled(if: geteuid() != 0, "root can read and change every folder"))
    func removedReadOnly() throws {
        try scratch.shell(
            "mkdir -p folder/a/b/c; touch folder/a/b/c/file; chmod 0 folder/a/b; chmod 500 folder/a folder")
        try PrivateFolder.removeAll(path)
        #expect(try !PrivateFolder.isThere(path))
    }

    @Test("A failed removal reports the reason of the system")
    func removalReason() throws {
        let busy = #expect(throws: FileError.self) { try PrivateFolder.removeAll("/proc/self") }
        #expect(busy?.errno == EPERM || busy?.errno == EACCES, "\(busy.debugDescription)")
    }

    @Test(
        "The entries of a folder have the types of their targets, and a name that is not UTF-8 is an obstacle"
    )
    func entries() throws {
        try scratch.shell(
            """
            mkdir folder; cd folder; touch file .hidden $(printf 'm\\351'); mkfifo pipe; mkdir inner
            ln -s file link; ln -s missing loose
            """)
        let entries = try PrivateFolder.entries(path, followingLinks: true)
        #expect(entries.map(\.name) == [".hidden", "file", "inner", "link", "loose", "m\u{FFFD}", "pipe"])
        #expect(entries.map { $0.obstacle == nil } == [true, true, false, true, false, false, false])
        let visible = entries.filter(\.isVisibleFile)
        #expect(visible.map(\.name) == ["file", "link", "loose", "m\u{FFFD}", "pipe"])
        let misnamed = entries.filter { $0.obstacle?.contains("UTF-8") == true }
        #expect(misnamed.map(\.name) == ["m\u{FFFD}"])
        let own = try PrivateFolder.entries(path, followingLinks: false).filter { $0.obstacle == nil }
        #expect(own.map(\.name) == [".hidden", "file"])
        #expect(throws: FileError(.inputOutput(ENOENT), path: "", "")) {
            try PrivateFolder.entries(scratch.path("missing"), followingLinks: true)
        }
    }

    private func makeOpen() throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
    }

    @Test("Access of the group alone is removed, and an exposed empty folder needs no marker")
    func groupAccess() throws {
        try PrivateFolder.make(path)
        #expect(unsafe chmod(path, 0o770) == 0)
        try PrivateFolder.make(path)
        #expect(try scratch.mode(path) == 0o700)
        #expect(unsafe chmod(path, 0o755) == 0)
        try PrivateFolder.make(path, marker: "keychain")
        #expect(try scratch.mode(path) == 0o700)
    }

    @Test("A file with the name of the marker does not mark a folder")
    func fileAsMarker() throws {
        try makeOpen()
        try AtomicFile.write([1], to: path + "/keychain")
        #expect(throws: FileError(.exposedFolder, path: "", "")) {
            try PrivateFolder.make(path, marker: "keychain")
        }
    }
}
