import Foundation
import TestSupport
import Testing

@Suite("Commands with arguments and variables that are not UTF-8", .timeLimit(.minutes(10)))
struct InvocationTextTests {
    private let simulation: Simulation

    init() throws {
        simulation = try Simulation()
    }

    /// Runs a script for bash in the scratch folder. Foundation's `Process` can pass only UTF-8.
    private func run(_ script: String) async throws -> TerminalRun {
        // The folder of the commands is only in the PATH of the terminal.
        let environment = RunningCommand.inheritedEnvironment.filter { $0.key != "PATH" }
        return try await TerminalRun.run(
            script, columns: 400, in: simulation.scratch.path, environment: environment)
    }

    @Test(
        "Every command refuses an argument that is not UTF-8, and does not touch a file with a similar name",
        arguments: [
            "keyshare-provider faults --write", "keyshare-provider trust --force -o",
            "keyshare-provider conformance --only no-mac --", "keyshare-provider backup",
            "keyshare-consumer inspect", "keyshare-consumer verify --message",
            "keyshare-consumer --help", "keyshare-device reset --yes --device", "keyshare-device --version",
        ])
    func arguments(command: String) async throws {
        _ = try simulation.write("kept", as: "s\u{FFFD}.txt")
        let names = try simulation.scratch.names(simulation.scratch.path)
        let program = String(command.prefix { $0 != " " })
        let result = try await run(command + #" $'s\xff.txt'"#)
        #expect(result.status == 64)
        #expect(
            result.lines.filter { !$0.isEmpty } == [
                program + ": the argument \u{201C}s\\xff.txt\u{201D} is not UTF-8",
                "hint: if the argument is a path, rename the file or folder",
            ])
        #expect(try simulation.scratch.read("s\u{FFFD}.txt") == Array("kept".utf8))
        #expect(try simulation.scratch.names(simulation.scratch.path) == names)
    }

    @Test("A path that contains U+FFFD in UTF-8 leads to the file with this name")
    func replacementCharacter() async throws {
        _ = try simulation.write("secret\n", as: "s\u{FFFD}.txt")
        let set = try await run(#"keyshare-device passcode set --password-file $'s\xef\xbf\xbd.txt'"#)
        #expect(set.status == 0, "\(set.lines)")
    }

    @Test("With --json, the document contains the error and the escaped argument")
    func document() async throws {
        let result = try await run(#"keyshare-consumer inspect --json $'s\xff.txt' 2>/dev/null"#)
        let document = result.lines.joined(separator: "\n")
        #expect(result.status == 64 && document.contains(#""usage""#), "\(document)")
        #expect(document.contains(#"s\\xff.txt"#), "\(document)")
    }

    @Test("The single installed executable also refuses such an argument")
    func oneExecutable() async throws {
        let executable = BuiltCommand.folder.appendingPathComponent("keyshare").path
        try FileManager.default.createSymbolicLink(
            atPath: simulation.scratch.path("keyshare-device"), withDestinationPath: executable)
        let result = try await run(#"./keyshare-device apps $'\xff'"#)
        #expect(result.status == 64)
        #expect(result.lines.contains { $0.hasSuffix("the argument \u{201C}\\xff\u{201D} is not UTF-8") })
    }

    @Test("A completion request that is not UTF-8 fails without a message")
    func completion() async throws {
        let result = try await run(#"keyshare-device ---completion -- $'\xff'"#)
        #expect(result.status == 64 && result.lines.allSatisfy(\.isEmpty), "\(result.lines)")
    }

    @Test(
        "Every command refuses a variable that is not UTF-8, and does not touch a device with a similar path",
        arguments: [
            "KEYSHARE_DEVICE", "KEYSHARE_SOCKET", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "HOME", "TMPDIR",
        ])
    func variables(name: String) async throws {
        let device = simulation.scratch.path("dev\u{FFFD}")
        try await simulation.device("unlock", "--device", device)
        let names = try simulation.scratch.names(device)
        #expect(!names.isEmpty)
        for command in ["keyshare-device reset --yes", "keyshare-provider list", "keyshare-consumer list"] {
            let result = try await run("\(name)=$'dev\\xff' \(command)")
            let message = ": the environment variable \(name) is not UTF-8: \u{201C}dev\\xff\u{201D}"
            #expect(result.status == 64)
            #expect(result.lines.contains { $0.hasSuffix(message) }, "\(result.lines)")
        }
        #expect(try simulation.scratch.names(device) == names)
    }

    @Test("A variable that the commands do not read can contain any bytes")
    func unrelatedVariable() async throws {
        #expect(try await run(#"UNRELATED=$'\xff' keyshare-device --version"#).status == 0)
    }

    @Test("Every command refuses a current folder whose path is not UTF-8", arguments: BuiltCommand.allCases)
    func currentFolder(command: BuiltCommand) async throws {
        let result = try await run(
            """
            mkdir $'d\\xff' && cd $'d\\xff' && \(command.rawValue) --version
            status=$?
            cd .. && rmdir $'d\\xff'
            exit $status
            """)
        #expect(result.status == 64)
        #expect(
            result.lines.contains { line in
                line.contains(": the path of the current folder is not UTF-8: \u{201C}/")
                    && line.hasSuffix("/d\\xff\u{201D}")
            }, "\(result.lines)")
    }
}
