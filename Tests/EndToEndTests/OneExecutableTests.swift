import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite("The executable that packages install")
struct OneExecutableTests {
    private static let executable = URL(fileURLWithPath: BuiltCommand.provider.path)
        .deletingLastPathComponent().appendingPathComponent("keyshare").path

    private func run(as name: String, _ arguments: String) async throws -> TerminalRun {
        let scratch = try ScratchFolder()
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path(name), withDestinationPath: Self.executable)
        return try await TerminalRun.run("./\(name) \(arguments)", columns: 200, in: scratch.path)
    }

    @Test(
        "Started by a link, it is the command that the link is named after", arguments: BuiltCommand.allCases)
    func name(command: BuiltCommand) async throws {
        let help = try await RunningCommand(command, ["--help"]).finish()
        let linked = try await run(as: command.rawValue, "--help")
        #expect(linked.status == 0)
        #expect(help.text.contains("USAGE: \(command.rawValue) "))
        #expect(linked.lines.contains { $0.hasPrefix("USAGE: \(command.rawValue) ") })
    }

    @Test("Started by another name, it says by which names it can be started")
    func otherName() async throws {
        let other = try await run(as: "keyshare", "--help")
        #expect(other.status == ExitStatus.usage.rawValue)
        #expect(other.lines.contains { $0.contains("keyshare-provider, keyshare-consumer, keyshare-device") })
    }

    @Test("Every command tells the newest version of the changelog", arguments: BuiltCommand.allCases)
    func version(command: BuiltCommand) async throws {
        let changelog = try String(
            contentsOfFile: "\(PackageFolder.path)/CHANGELOG.md", encoding: .utf8)
        let newest = try #require(changelog.firstMatch(of: /\n## (\d+\.\d+\.\d+)/)?.1)
        #expect(try await RunningCommand(command, ["--version"]).finish().text == "\(newest)\n")
    }
}
