import Foundation
import Glibc
import PrivateFiles
import TestSupport
import Testing

@Suite("Destinations of files", .timeLimit(.minutes(10)))
struct FileDestinationTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("way"), withDestinationPath: scratch.path)
    }

    @Test(
        "Two paths that resolve to the same file are one destination, whether or not the file exists"
    )
    func same() throws {
        let file = FileDestination(scratch.path("file"))
        #expect(file.isSame(as: FileDestination(scratch.path("way/file"))))
        #expect(!file.isSame(as: FileDestination(scratch.path("other"))) && !file.isTaken)
        try AtomicFile.write([1], to: scratch.path("file"))
        try FileManager.default.linkItem(atPath: scratch.path("file"), toPath: scratch.path("hard"))
        let existing = FileDestination(scratch.path("file"))
        #expect(existing.isTaken && existing.isSame(as: FileDestination(scratch.path("hard"))))
    }

    @Test("Folders whose names are not UTF-8 are different destinations")
    func invalidNames() throws {
        try scratch.shell(
            #"for end in 1 2; do mkdir "$(printf "o\37$end")"; ln -s "$(printf "o\37$end")" link$end; done"#
        )
        let file = FileDestination(scratch.path("link1/file"))
        #expect(file.isSame(as: FileDestination(scratch.path("link1/file"))))
        #expect(!file.isSame(as: FileDestination(scratch.path("link2/file"))))
        #expect(file.isInside(scratch.path) && !file.isInside(scratch.path("o\u{FFFD}")))
    }

    @Test(
        "A destination is inside a folder if it resolves there, and not if only its name has the same prefix")
    func inside() {
        #expect(FileDestination(scratch.path("way/file")).isInside(scratch.path))
        #expect(FileDestination(scratch.path).isInside(scratch.path))
        #expect(!FileDestination(scratch.path + "-2").isInside(scratch.path))
        #expect(!FileDestination(scratch.path("none/file")).isInside(scratch.path))
    }

    @Test("A folder or a FIFO cannot be a destination, and a dangling link counts as an existing file")
    func unsuitable() throws {
        try #require(unsafe mkfifo(scratch.path("pipe"), 0o600) == 0)
        for path in [scratch.path("pipe"), scratch.path] {
            #expect(throws: FileError(.unsuitablePath, path: "", "")) {
                try FileDestination(path).requireFile()
            }
        }
        try FileDestination(scratch.path("new")).requireFile()
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("lost"), withDestinationPath: scratch.path("none"))
        #expect(FileDestination(scratch.path("lost")).isTaken)
    }

    @Test("Files of one name in two folders are different, and a link to a file is the same destination")
    func others() throws {
        try PrivateFolder.make(scratch.path("a"))
        try PrivateFolder.make(scratch.path("b"))
        #expect(
            !FileDestination(scratch.path("a/file")).isSame(as: FileDestination(scratch.path("b/file"))))
        let file = try scratch.write([1], as: "file")
        try FileManager.default.createSymbolicLink(atPath: scratch.path("link"), withDestinationPath: file)
        #expect(FileDestination(scratch.path("link")).isSame(as: FileDestination(file)))
    }
}
