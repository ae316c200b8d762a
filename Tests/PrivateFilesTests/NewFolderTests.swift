import Foundation
import TestSupport
import Testing

@testable import PrivateFiles

@Suite("Folders that become visible only when complete", .timeLimit(.minutes(10)))
struct NewFolderTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
    }

    @Test("A folder gets its final name when it is complete, and no temporary folder remains")
    func complete() throws {
        let folder = try NewFolder(scratch.path("new") + "/", replacing: nil)
        try folder.add([1, 2], as: "a")
        try folder.add([], as: "b")
        #expect(!FileManager.default.fileExists(atPath: scratch.path("new")))
        try folder.publish()
        folder.discard()
        #expect(try scratch.names(scratch.path) == ["new"])
        #expect(try scratch.read("new/a") == [1, 2])
        #expect(try scratch.mode(scratch.path("new")) == 0o700)
        #expect(try scratch.mode(scratch.path("new/b")) == 0o600)
    }

    @Test("A folder that is discarded leaves no files")
    func discarded() throws {
        let folder = try NewFolder(scratch.path("new"), replacing: nil)
        try folder.add([1], as: "a")
        folder.discard()
        #expect(try scratch.names(scratch.path).isEmpty)
    }

    @Test("Complete files can be moved into an existing folder, where they replace those of the same name")
    func moved() throws {
        let target = scratch.path("target")
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
        for name in ["a", "other"] { _ = try scratch.write([9], as: "target/\(name)") }
        let folder = try NewFolder(target + "/.new", replacing: nil)
        for name in ["a", "b"] { try folder.add([1], as: name) }
        #expect(try scratch.read("target/a") == [9])
        try folder.moveFiles(into: target)
        #expect(try scratch.names(target) == ["a", "b", "other"])
        #expect(try scratch.read("target/a") == [1])
        #expect(try scratch.mode(target + "/b") == 0o600)
    }

    @Test("No file is moved into a folder where one of the names belongs to a folder")
    func notMoved() throws {
        let target = scratch.path("target")
        try FileManager.default.createDirectory(atPath: target + "/b", withIntermediateDirectories: true)
        let folder = try NewFolder(target + "/.new", replacing: nil)
        for name in ["a", "b"] { try folder.add([1], as: name) }
        #expect(throws: FileError(.unsuitablePath, path: "", "")) { try folder.moveFiles(into: target) }
        #expect(try scratch.names(target) == ["b"])
    }

    @Test("An existing folder is replaced only if requested, and always as a whole")
    func replacing() throws {
        try FileManager.default.createDirectory(
            atPath: scratch.path("new"), withIntermediateDirectories: false)
        _ = try scratch.write([9], as: "new/old")
        #expect(throws: FileError(.alreadyThere, path: "", "")) {
            try NewFolder(scratch.path("new"), replacing: nil)
        }
        let folder = try NewFolder(scratch.path("new")) { $0 == "old" }
        try folder.add([1], as: "a")
        #expect(try scratch.names(scratch.path("new")) == ["old"])
        try folder.publish()
        #expect(try scratch.names(scratch.path("new")) == ["a"])
        #expect(try scratch.names(scratch.path) == ["new"])
    }

    @Test("Publishing fails if another folder has taken the name, and keeps that folder")
    func taken() throws {
        let folder = try NewFolder(scratch.path("new"), replacing: nil)
        try FileManager.default.createDirectory(
            atPath: scratch.path("new"), withIntermediateDirectories: false)
        #expect(throws: FileError(.alreadyThere, path: "", "")) { try folder.publish() }
        folder.discard()
        #expect(try scratch.names(scratch.path) == ["new"])
    }

    @Test(
        "The remains of a killed process are removed, and a folder that another process fills is not changed")
    func leftOver() throws {
        try FileManager.default.createDirectory(
            atPath: scratch.path(".new.unfinished"), withIntermediateDirectories: false)
        _ = try scratch.write([9], as: ".new.unfinished/old")
        let folder = try NewFolder(scratch.path("new"), replacing: nil)
        #expect(throws: FileError(.inputOutput(EBUSY), path: "", "")) {
            try NewFolder(scratch.path("new"), replacing: nil)
        }
        try folder.publish()
        #expect(try scratch.names(scratch.path("new")).isEmpty)
    }

    @Test("File names that escape the folder and duplicate file names are rejected")
    func names() throws {
        let folder = try NewFolder(scratch.path("new"), replacing: nil)
        for name in ["../a", "a/b", "", ".hidden"] {
            #expect(throws: FileError(.unsuitablePath, path: "", "")) { try folder.add([], as: name) }
        }
        try folder.add([1], as: "a")
        #expect(throws: FileError(.cannotCreate(EEXIST), path: "", "")) { try folder.add([2], as: "a") }
        folder.discard()
    }

    @Test(
        "If the unfinished folder is replaced, nothing outside it is written, published or removed",
        arguments: [false, true], [false, true])
    func exchanged(isLink: Bool, replacing: Bool) throws {
        if replacing {
            try PrivateFolder.make(scratch.path("new"))
            _ = try scratch.write([9], as: "new/old")
        }
        let isOld: @Sendable (String) -> Bool = { $0 == "old" }
        let folder = try NewFolder(scratch.path("new"), replacing: replacing ? isOld : nil)
        try folder.add([1], as: "a")
        let unfinished = scratch.path(".new.unfinished")
        try #require(unsafe rename(unfinished, scratch.path("moved")) == 0)
        let other = isLink ? scratch.path("other") : unfinished
        try PrivateFolder.make(other + "/inner", withParents: true)
        for name in ["a", "c", "inner/file"] { try AtomicFile.write([2], to: other + "/" + name) }
        if isLink {
            try FileManager.default.createSymbolicLink(atPath: unfinished, withDestinationPath: other)
        }
        try folder.add([1], as: "b")
        #expect(try scratch.names(scratch.path("moved")) == ["a", "b"])
        #expect(throws: FileError(.foreignEntry, path: "", "")) { try folder.publish() }
        folder.discard()
        #expect(try scratch.names(scratch.path("moved")).isEmpty)
        #expect(try scratch.names(other) == ["a", "c", "inner"])
        #expect(try scratch.names(other + "/inner") == ["file"])
        #expect(FileManager.default.fileExists(atPath: scratch.path("new")) == replacing)
        #expect(try !replacing || scratch.names(scratch.path("new")) == ["old"])
    }

    @Test("A folder that is discarded again leaves the unfinished folder of a later object")
    func discardedAgain() throws {
        let folder = try NewFolder(scratch.path("new"), replacing: nil)
        folder.discard()
        let later = try NewFolder(scratch.path("new"), replacing: nil)
        folder.discard()
        try later.publish()
        later.discard()
        #expect(try scratch.names(scratch.path) == ["new"])
    }

    @Test(
        "Publishing replaces only the folder that existed when the new one was created",
        arguments: [false, true])
    func otherFormer(isThere: Bool) throws {
        if isThere { try PrivateFolder.make(scratch.path("new")) }
        let folder = try NewFolder(scratch.path("new")) { _ in true }
        if isThere { try #require(unsafe rename(scratch.path("new"), scratch.path("moved")) == 0) }
        try PrivateFolder.make(scratch.path("new"))
        _ = try scratch.write([9], as: "new/other")
        #expect(throws: FileError(.alreadyThere, path: "", "")) { try folder.publish() }
        folder.discard()
        #expect(try scratch.names(scratch.path) == (isThere ? ["moved", "new"] : ["new"]))
        #expect(try scratch.names(scratch.path("new")) == ["other"])
    }

    /// Entries of a folder that no earlier run wrote: the name, and the shell command that creates it.
    private static let others = [
        "mine": "echo 1 > mine", "folder": "mkdir folder", "link": "ln -s /tmp link", "pipe": "mkfifo pipe",
        "r\u{FFFD}sum\u{FFFD}.doc": "touch $(printf 'r\\351sum\\351.doc')", ".hidden": "touch .hidden",
    ]

    @Test(
        "A folder that contains other files, also with names that are not UTF-8, is not replaced",
        arguments: others)
    func othersBefore(name: String, command: String) throws {
        try PrivateFolder.make(scratch.path("new"))
        try scratch.shell("cd new; touch old; " + command)
        let before = try scratch.names(scratch.path("new"))
        let error = #expect(throws: FileError.self) {
            _ = try NewFolder(scratch.path("new")) { $0 != "mine" && $0 != ".hidden" }
        }
        #expect(error?.code == .otherFiles && error?.reason.hasSuffix(": " + name) == true)
        #expect(try scratch.names(scratch.path("new")) == before)
        #expect(!FileManager.default.fileExists(atPath: scratch.path(".new.unfinished")))
    }

    @Test(
        "Files that are created in the previous folder in the meantime remain, and it is not replaced",
        arguments: others)
    func othersMeanwhile(name: String, command: String) throws {
        try PrivateFolder.make(scratch.path("new"))
        _ = try scratch.write([9], as: "new/old")
        let folder = try NewFolder(scratch.path("new")) { $0 == "old" }
        try folder.add([1], as: "a")
        try scratch.shell("cd new; " + command)
        let before = try scratch.names(scratch.path("new"))
        let error = #expect(throws: FileError.self) { try folder.publish() }
        #expect(error?.code == .otherFiles && error?.reason.hasSuffix(": " + name) == true)
        folder.discard()
        #expect(try scratch.names(scratch.path("new")) == before)
        #expect(!FileManager.default.fileExists(atPath: scratch.path(".new.unfinished")))
    }

    @Test(
        "A new folder does not replace another user's folder",
        .enabled(if: geteuid() == 0, "only root can create another user's folder"))
    func foreignFolder() throws {
        try FileManager.default.createDirectory(
            atPath: scratch.path("theirs"), withIntermediateDirectories: false)
        try #require(unsafe chown(scratch.path("theirs"), 65_534, 65_534) == 0)
        #expect(throws: FileError(.foreignOwner, path: "", "")) {
            _ = try NewFolder(scratch.path("theirs"), replacing: { _ in true })
        }
        #expect(try scratch.names(scratch.path) == ["theirs"])
    }

    @Test(
        "Another user's unfinished folder is not removed, and no folder is created",
        .enabled(if: geteuid() == 0, "only root can create another user's folder"))
    func foreignUnfinishedFolder() throws {
        try FileManager.default.createDirectory(
            atPath: scratch.path(".new.unfinished"), withIntermediateDirectories: false)
        _ = try scratch.write([1], as: ".new.unfinished/file")
        try #require(unsafe chown(scratch.path(".new.unfinished"), 65_534, 65_534) == 0)
        #expect(throws: FileError(.foreignOwner, path: "", "")) {
            _ = try NewFolder(scratch.path("new")) { _ in true }
        }
        #expect(try scratch.names(scratch.path(".new.unfinished")) == ["file"])
    }

    @Test("A new folder replaces neither a link nor a file, and a path without a name is rejected")
    func unsuitable() throws {
        _ = try scratch.write([1], as: "file")
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("link"), withDestinationPath: scratch.path)
        #expect(throws: FileError(.notAFolder, path: "", "")) {
            try NewFolder(scratch.path("file"), replacing: { _ in true })
        }
        #expect(throws: FileError(.symbolicLink, path: "", "")) {
            try NewFolder(scratch.path("link"), replacing: { _ in true })
        }
        for name in [".", ".."] {
            // The names are below the scratch folder, where a failing test may leave files.
            let path = scratch.path("folder") + "/" + name
            #expect(throws: FileError(.unsuitablePath, path: "", "")) {
                try NewFolder(path, replacing: { _ in true })
            }
        }
        #expect(throws: FileError(.cannotCreate(ENOENT), path: "", "")) {
            try NewFolder(scratch.path("missing/new"), replacing: nil)
        }
    }
}
