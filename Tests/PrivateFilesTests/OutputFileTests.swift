import Foundation
import Glibc
import PrivateFiles
import TestSupport
import Testing

@Suite("Files in folders that other users can write to", .timeLimit(.minutes(10)))
struct OutputFileTests {
    private let scratch: ScratchFolder
    /// The folder that others may write to.
    private var shared: String { scratch.path("shared") }
    private static let otherUser: uid_t = 65_534

    init() throws {
        scratch = try ScratchFolder()
        try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
        try #require(unsafe chmod(shared, 0o1777) == 0)
    }

    private func link(_ path: String, to destination: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: destination)
    }

    /// Gives a file to another user.
    private func give(_ path: String) throws {
        try #require(unsafe lchown(path, Self.otherUser, Self.otherUser) == 0)
    }

    @Test(
        "In a shared folder, another user's link, pipe or file is rejected, and nothing is written or read",
        .enabled(if: geteuid() == 0, "only root can make another user's files"),
        arguments: [0o1777, 0o777, 0o1770, 0o720] as [mode_t])
    func filesOfOtherUsers(mode: mode_t) throws {
        try #require(unsafe chmod(shared, mode) == 0)
        let victim = try scratch.write([1], as: "victim")
        try link(shared + "/link", to: victim)
        try link(shared + "/lost", to: scratch.path("none"))
        try link(shared + "/folder", to: scratch.path)
        try #require(unsafe mkfifo(shared + "/pipe", 0o666) == 0)
        _ = try scratch.write([2], as: "shared/file")
        for name in ["link", "lost", "folder", "pipe", "file"] { try give(shared + "/" + name) }
        // The user's own link, which leads to the other user's link.
        try link(scratch.path("way"), to: shared + "/link")
        let names = try scratch.names(shared)
        for path in [
            "shared/link", "shared/lost", "shared/folder/victim", "shared/pipe", "shared/file", "way",
        ] {
            #expect(throws: FileError(.foreignEntry, path: "", ""), "\(path)") {
                try OutputFile.write([3], to: scratch.path(path))
            }
        }
        #expect(try scratch.read("victim") == [1] && scratch.read("shared/file") == [2])
        #expect(try scratch.names(shared) == names)
        #expect(!FileManager.default.fileExists(atPath: scratch.path("none")))
    }

    @Test("A link whose target is not UTF-8 is not followed, and a file with a similar name is not replaced")
    func invalidTarget() throws {
        try scratch.shell(#"printf kept >"$(printf 'o\357\277\275')"; ln -s "$(printf 'o\377')" link"#)
        #expect(throws: FileError(.inputOutput(EILSEQ), path: "", "")) {
            try OutputFile.write([3], to: scratch.path("link"))
        }
        #expect(try scratch.read("o\u{FFFD}") == Array("kept".utf8))
        #expect(try scratch.names(scratch.path) == ["errors", "link", "o\u{FFFD}", "shared"])
    }

    @Test(
        "Links of the folder's owner are followed, and so are links in a folder that no other user can write to",
        .enabled(if: geteuid() == 0, "only root can make another user's files"))
    func owners() throws {
        _ = try scratch.write([1], as: "file")
        try link(shared + "/link", to: scratch.path("file"))
        try give(shared + "/link")
        try give(shared)
        try OutputFile.write([2], to: shared + "/link")
        #expect(try scratch.read("file") == [2])
        try give(scratch.path("file"))
        try OutputFile.write([3], to: scratch.path("file"))
        #expect(try scratch.read("file") == [3])
    }

    @Test(
        "In the user's own folder, to which no other user can write, another user's link is followed",
        .enabled(if: geteuid() == 0, "only root can make another user's files"))
    func ownFolder() async throws {
        let user = Self.otherUser - 1
        let target = try scratch.write([1], as: "shared/target")
        try link(shared + "/link", to: target)
        try give(shared + "/link")
        for path in [shared, target] { try #require(unsafe chown(path, user, user) == 0) }
        try #require(unsafe chmod(shared, 0o755) == 0 && chmod(scratch.path, 0o755) == 0)
        await #expect(processExitsWith: .success) { [shared = shared as String, user = user as uid_t] in
            try #require(seteuid(user) == 0)
            try OutputFile.write([2], to: shared + "/link")
        }
        #expect(try scratch.read("shared/target") == [2])
    }

    @Test(
        "The user's own links are followed, including chained and relative links, and the target is replaced")
    func ownLinks() throws {
        try link(shared + "/first", to: "second")
        try link(shared + "/second", to: "../other/../target")
        try FileManager.default.createDirectory(
            atPath: scratch.path("other"), withIntermediateDirectories: false)
        for bytes in [[1], [2, 3]] as [[UInt8]] {
            try OutputFile.write(bytes, to: shared + "/first")
            #expect(try scratch.read("target") == bytes)
            #expect(try scratch.mode(scratch.path("target")) == 0o600)
        }
        #expect(FileIdentity(path: shared + "/second")?.type == S_IFLNK)
        try link(shared + "/round", to: "round")
        #expect(throws: FileError(.inputOutput(ELOOP), path: "", "")) {
            try OutputFile.write([1], to: shared + "/round")
        }
    }

    @Test("A chain of 40 links is followed, and a longer one is rejected, as by the kernel")
    func longChain() throws {
        try link(shared + "/1", to: "../target")
        for number in 2...41 { try link(shared + "/\(number)", to: "\(number - 1)") }
        try OutputFile.write([7], to: shared + "/40")
        #expect(try scratch.read("target") == [7])
        #expect(throws: FileError(.inputOutput(ELOOP), path: "", "")) {
            try OutputFile.write([1], to: shared + "/41")
        }
    }

    @Test("Bytes can be written to the user's own pipe, a device and an open descriptor")
    func others() throws {
        let pipe = shared + "/pipe"
        try #require(unsafe mkfifo(pipe, 0o600) == 0)
        // A concurrent reader; the pipe's buffer holds the bytes until they are read.
        let descriptor = unsafe open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try OutputFile.write([1, 2, 3], to: pipe)
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(unsafe read(descriptor, &bytes, bytes.count) == 3)
        #expect(bytes.prefix(3) == [1, 2, 3])
        try OutputFile.write([1], to: "/dev/null")
        let file = unsafe open(scratch.path("open"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        try OutputFile.write([4, 5], to: "/dev/fd/\(file)")
        #expect(try scratch.read("open") == [4, 5])
        // The link in /proc names no file, so only the kernel can follow it.
        var ends: [CInt] = [0, 0]
        try #require(unsafe Glibc.pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        try OutputFile.write([6], to: "/dev/fd/\(ends[1])")
        #expect(unsafe read(ends[0], &bytes, bytes.count) == 1)
        #expect(bytes[0] == 6)
    }

    @Test(
        "A folder and a missing folder are rejected",
        arguments: ["shared", "shared/", "none/file", ""])
    func unsuitable(path: String) throws {
        #expect(throws: FileError.self) {
            try OutputFile.write([1], to: path.isEmpty ? "" : scratch.path(path))
        }
        #expect(try scratch.names(shared).isEmpty)
    }

    @Test("A link to a folder is followed in the middle of a path, and a trailing slash requires a folder")
    func linksToFolders() throws {
        try FileManager.default.createDirectory(
            atPath: scratch.path("real"), withIntermediateDirectories: false)
        try link(scratch.path("way"), to: "real")
        try OutputFile.write([1], to: scratch.path("way/file"))
        #expect(try scratch.read("real/file") == [1])
        #expect(throws: FileError.self) { try OutputFile.write([2], to: scratch.path("real/file/")) }
        #expect(try scratch.read("real/file") == [1])
        #expect(throws: FileError(.inputOutput(EISDIR), path: "", "")) {
            try OutputFile.write([1], to: scratch.path("real"))
        }
    }

    @Test("Paths are split at every slash, even if a combining mark follows it")
    func combiningMarks() throws {
        let name = "\u{301}x"
        try PrivateFolder.make(scratch.path("a/\u{301}b/" + name), withParents: true)
        #expect(PrivateFolder.parent(of: "a/" + name) == "a" && PrivateFolder.parent(of: "/" + name) == "/")
        #expect(try scratch.names(scratch.path("a")) == ["\u{301}b"])
        try link(scratch.path("way"), to: "a")
        try OutputFile.write([1], to: scratch.path("way/" + name))
        #expect(try scratch.read("a/" + name) == [1])
        #expect(FileDestination(scratch.path("way/" + name)).isInside(scratch.path("a")))
        #expect(!PrivateFolder.isPlainName(".\u{301}") && !PrivateFolder.isPlainName("a/\u{301}"))
    }

    @Test(
        "A file of a third user in a folder of another user is rejected, and so is one in a world-writable folder",
        .enabled(if: geteuid() == 0, "only root can make another user's files"),
        arguments: [0o755, 0o702] as [mode_t])
    func thirdUser(mode: mode_t) throws {
        _ = try scratch.write([2], as: "shared/file")
        try give(shared + "/file")
        try #require(unsafe chmod(shared, mode) == 0)
        if mode == 0o755 { try #require(unsafe lchown(shared, 65_533, 65_533) == 0) }
        #expect(throws: FileError(.foreignEntry, path: "", "")) {
            try OutputFile.write([3], to: shared + "/file")
        }
        #expect(try scratch.read("shared/file") == [2])
    }

    @Test(
        "A file of the folder's owner is rejected in a world-writable folder, unlike a link of that owner",
        .enabled(if: geteuid() == 0, "only root can make another user's files"))
    func fileOfOwner() throws {
        _ = try scratch.write([2], as: "shared/file")
        try give(shared + "/file")
        try give(shared)
        #expect(throws: FileError(.foreignEntry, path: "", "")) {
            try OutputFile.write([3], to: shared + "/file")
        }
    }
}
