import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite("The single installed executable", .timeLimit(.minutes(10)))
struct OneExecutableTests {
    private static let executable = BuiltCommand.folder.appendingPathComponent("keyshare").path

    private func run(as name: String, _ arguments: String) async throws -> TerminalRun {
        let scratch = try ScratchFolder()
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path(name), withDestinationPath: Self.executable)
        return try await TerminalRun.run("./\(name) \(arguments)", columns: 200, in: scratch.path)
    }

    @Test(
        "The executable runs the command that its link is named after", arguments: BuiltCommand.allCases)
    func name(command: BuiltCommand) async throws {
        let help = try await RunningCommand(command, ["--help"]).finish()
        let linked = try await run(as: command.rawValue, "--help")
        #expect(linked.status == 0)
        #expect(help.text.contains("USAGE: \(command.rawValue) "))
        #expect(linked.lines.contains { $0.hasPrefix("USAGE: \(command.rawValue) ") })
    }

    @Test("The executable lists the valid names if it is started under another name")
    func otherName() async throws {
        let other = try await run(as: "keyshare", "--help")
        #expect(other.status == ExitStatus.usage.rawValue)
        #expect(other.lines.contains { $0.contains("keyshare-provider, keyshare-consumer, keyshare-device") })
    }

    @Test("Every command prints the newest version of the changelog", arguments: BuiltCommand.allCases)
    func version(command: BuiltCommand) async throws {
        let changelog = try String(
            contentsOfFile: "\(PackageFolder.path)/CHANGELOG.md", encoding: .utf8)
        let newest = try #require(changelog.firstMatch(of: /\n## (\d+\.\d+\.\d+)/)?.1)
        #expect(try await RunningCommand(command, ["--version"]).finish().text == "\(newest)\n")
    }
}
