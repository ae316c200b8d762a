import Foundation
import TestSupport
import Testing

/// Compares output that is the same in every run, byte for byte.
///
/// Run with KEYSHARE_UPDATE_GOLDEN=1 to regenerate the files, then review the difference.
@Suite("Output of the commands", .timeLimit(.minutes(10)))
struct GoldenTests {
    private static let folder = PackageFolder.path + "/Tests/EndToEndTests/Golden"
    private static let isUpdating = ProcessInfo.processInfo.environment["KEYSHARE_UPDATE_GOLDEN"] == "1"

    private func check(_ text: String, _ name: String) throws {
        let path = "\(Self.folder)/\(name).txt"
        if Self.isUpdating {
            try FileManager.default.createDirectory(atPath: Self.folder, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        }
        let golden = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text == golden, "\(name): set KEYSHARE_UPDATE_GOLDEN=1 to accept")
    }

    /// The subcommands that use no device: they read files, or print values that every device has.
    private static let withoutDevice = [
        "apps", "classify", "conformance", "faults", "inspect", "pkcs11", "vectors",
    ]

    /// Parses the names of a command's subcommands from its help.
    private func subcommands(_ help: String) -> [String] {
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        let listed = lines.drop { $0 != "SUBCOMMANDS:" }.dropFirst().prefix { $0.hasPrefix("  ") }
        return listed.filter { !$0.hasPrefix("   ") }
            .compactMap { $0.split(separator: " ").first.map(String.init) }
    }

    @Test(
        "Every command's help matches its golden file, shows an example, and lists --device if applicable",
        arguments: BuiltCommand.allCases)
    func help(command: BuiltCommand) async throws {
        let root = try await RunningCommand(command, ["--help"]).finish()
        try check(root.text, "help-\(command.rawValue)")
        let names = subcommands(root.text)
        #expect(names.count == [.provider: 21, .consumer: 13, .device: 17][command])
        for name in names {
            let run = try await RunningCommand(command, [name, "--help"]).finish()
            #expect(run.status == 0)
            #expect(run.text.contains("EXAMPLE:\n"), "\(name) has no example")
            let isOfOthers = run.text.contains("SUBCOMMANDS:\n")
            let takesDevice = run.text.contains("--device <dir>")
            #expect(isOfOthers || takesDevice != Self.withoutDevice.contains(name), "\(name)")
            try check(run.text, "help-\(command.rawValue)-\(name)")
        }
    }

    @Test("The list of an empty provider matches the golden files")
    func emptyList() async throws {
        let simulation = try Simulation()
        try await simulation.device("unlock")
        try check(
            try await simulation.provider("list", "--at", "2026-03-01T12:00:00Z", "--json").text,
            "list-empty-json")
        try check(
            try await simulation.provider("list", "--at", "2026-03-01T12:00:00Z").text, "list-empty-text")
    }

    @Test(
        "Errors with their hints match the golden files, on standard error and in JSON",
        arguments: [
            ("no-provider", ["browse"]),
            ("deprecated-type", ["browse", "--uti", "purebred2025.select.all_user"]),
            ("mixed-types", ["browse", "--uti", "purebred.select.all", "--uti", "purebred2025.zip.all"]),
            ("unknown-type", ["browse", "--uti", "purebred2025.zip.piv"]),
            ("unknown-option", ["browse", "--colour"]),
            ("no-such-label", ["show", "ABC"]), ("nothing-named", ["import"]),
        ])
    func errors(name: String, arguments: [String]) async throws {
        let simulation = try Simulation()
        try await simulation.device("unlock")
        let run = try await simulation.consumer(arguments + ["--json"])
        let said = "exit \(run.status)\n\(run.errors)\(run.text)"
        try check(said.replacingOccurrences(of: simulation.scratch.path, with: "SCRATCH"), "error-\(name)")
    }

    @Test("The list of scenarios matches the golden files")
    func scenarios() async throws {
        let arguments = ["provision", "--list-scenarios"]
        try check(try await RunningCommand(.provider, arguments).finish().text, "list-scenarios-text")
        try check(
            try await RunningCommand(.provider, arguments + ["--json"]).finish().text, "list-scenarios-json")
    }

    @Test(
        "Errors in scenarios match the golden files, with line and column",
        arguments: [
            ("unknown-key", "description: A.\npersons:\n  - credentials:\n      - generation: 2\n"),
            ("unknown-value", "description: A.\npersons: []\nservice:\n  fault: wrong-pasword\n"),
            ("no-yaml", "description: A.\npersons: [\n"),
        ])
    func scenarioErrors(name: String, yaml: String) async throws {
        let simulation = try Simulation()
        let file = try simulation.write(yaml, as: "wrong.yaml")
        let run = try await simulation.provider("provision", "--scenario", file, "--json")
        let said = "exit \(run.status)\n\(run.errors)\(run.text)"
        try check(
            said.replacingOccurrences(of: simulation.scratch.path, with: "SCRATCH"), "error-scenario-\(name)")
    }

    @Test(
        "The errors of the device's commands match the golden files",
        arguments: [
            ("locked", ["passcode", "remove", "--yes"]), ("unconfirmed", ["reset"]),
            ("unknown-state", ["channels", "--state", "asleep"]),
            ("no-entitlements", ["channels", "--sender-entitlements", "/nowhere/entitlements.plist"]),
            ("no-source", ["restore", "/nowhere"]), ("unknown-app", ["keychain", "--app", "nobody"]),
        ])
    func deviceErrors(name: String, arguments: [String]) async throws {
        let simulation = try Simulation()
        try await simulation.device("lock")
        let run = try await simulation.device(arguments + ["--json"])
        try check("exit \(run.status)\n\(run.errors)\(run.text)", "error-device-\(name)")
    }

    @Test(
        "The documents and tables of the device's commands match the golden files",
        arguments: [["apps"], ["groups"], ["keychain"], ["pasteboard"], ["lock"]])
    func deviceOutput(arguments: [String]) async throws {
        let simulation = try Simulation()
        try await simulation.device("unlock")
        let text = try await simulation.device(arguments)
        try check(text.text + text.errors, "device-\(arguments[0])-text")
        try check(try await simulation.device(arguments + ["--json"]).text, "device-\(arguments[0])-json")
    }

    @Test("Every command prints a version, and a completion script for each shell")
    func versionAndCompletions() async throws {
        for command in BuiltCommand.allCases {
            let version = try await RunningCommand(command, ["--version"]).finish()
            #expect(version.status == 0 && version.text.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
            for shell in ["bash", "zsh", "fish"] {
                let script = try await RunningCommand(command, ["--generate-completion-script", shell])
                    .finish()
                #expect(script.status == 0 && script.text.contains(command.rawValue))
            }
        }
    }
}
