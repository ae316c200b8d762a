import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite("The version of the build", .timeLimit(.minutes(10)))
struct BuildVersionTests {
    private let scratch: ScratchFolder
    private var file: String { scratch.path + "/version" }

    init() throws {
        scratch = try ScratchFolder()
    }

    @Test("The file next to the executable adds the date and commit to the version")
    func added() throws {
        let version = "0.1.0+20261122.gbfb873e01"
        try (version + "\n").write(toFile: file, atomically: true, encoding: .utf8)
        #expect(BuildVersion.version(release: "0.1.0", file: file) == version)
    }

    @Test("Without the file, the version is that of the changelog")
    func missing() {
        #expect(BuildVersion.version(release: "0.1.0", file: file) == "0.1.0")
        #expect(BuildVersion.version(release: "0.1.0", file: nil) == "0.1.0")
    }

    @Test(
        "A file of another version, or with other content, is ignored",
        arguments: [
            "", "0.1.0", "0.1.0+", "0.1.1+20261122.g1", "0.1.0+a b", "0.1.0+\u{1B}[31m", "0.1.0+a/b",
            "0.1.0+" + String(repeating: "a", count: 64),
        ])
    func foreign(content: String) throws {
        try content.write(toFile: file, atomically: true, encoding: .utf8)
        #expect(BuildVersion.version(release: "0.1.0", file: file) == "0.1.0")
    }

    @Test("A symbolic link or a folder in place of the file is ignored")
    func linked() throws {
        try "0.1.0+20261122.g1".write(toFile: scratch.path + "/other", atomically: true, encoding: .utf8)
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "other")
        #expect(BuildVersion.version(release: "0.1.0", file: file) == "0.1.0")
        #expect(BuildVersion.version(release: "0.1.0", file: scratch.path) == "0.1.0")
    }
}
