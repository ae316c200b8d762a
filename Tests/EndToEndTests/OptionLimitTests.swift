import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite("The limits of options, and their combinations", .timeLimit(.minutes(10)))
struct OptionLimitTests {
    private let simulation: Simulation

    /// A command line and the words in its error message.
    private typealias Case = (BuiltCommand, [String], String)

    /// A file is in the place of the device. A command that accepts its options ends there with exit code 73.
    init() throws {
        simulation = try Simulation()
        _ = try simulation.write("a file", as: "device")
    }

    private func run(_ command: BuiltCommand, _ arguments: [String]) async throws -> CommandRun {
        switch command {
        case .provider: return try await simulation.provider(arguments)
        case .consumer: return try await simulation.consumer(arguments)
        case .device: return try await simulation.device(arguments)
        }
    }

    private func expectUsageErrors(_ cases: [Case]) async throws {
        for (command, arguments, words) in cases {
            let result = try await run(command, arguments)
            #expect(result.status == 64 && result.errors.contains(words), "\(arguments): \(result.errors)")
        }
    }

    @Test("A number outside the range of its option is a usage error that names the range")
    func ranges() async throws {
        let name = String(repeating: "a", count: 257)
        try await expectUsageErrors([
            (.provider, ["conformance", "--list", "--timeout", "0.009"], "--timeout must be a number"),
            (.provider, ["conformance", "--list", "--timeout", "3601"], "from 0.01 to 3600"),
            (.provider, ["conformance", "--list", "--memory", "15"], "--memory must be a number from 16"),
            (.provider, ["conformance", "--list", "--memory", "1048577"], "from 16 to 1048576"),
            (.provider, ["conformance", "--list", "--jobs", "0"], "--jobs must be a number from 1"),
            (.provider, ["conformance", "--list", "--jobs", "1025"], "from 1 to 1024"),
            (.provider, ["serve", "--pasteboard-expiry=-1"], "--pasteboard-expiry must be a number"),
            (.provider, ["serve", "--pasteboard-expiry", "86401"], "from 0 to 86400"),
            (.provider, ["serve", "--presence-cache", "86401"], "--presence-cache must be a number"),
            (.provider, ["serve", "--presence-timeout", "81"], "must be a number from 0 to 80"),
            (.provider, ["provision", "--generations", "0"], "--generations must be a number from 1 to"),
            (.provider, ["provision", "--generations", "101"], "must be a number from 1 to 100"),
            (.provider, ["provision", "--count", "0"], "--count must be a number from 1 to 1000000"),
            (.provider, ["provision", "--count", "1000001"], "--count must be a number from 1 to 1000000"),
            (.provider, ["export", "a", "--iterations", "0"], "must be a number from 1 to 2000000"),
            (.provider, ["export", "a", "--iterations", "2000001"], "must be a number from 1 to 2000000"),
            (.provider, ["export", "a", "--friendly-name", name], "is longer than 256 characters"),
            (.consumer, ["inspect", "a", "--max-bags", "0"], "--max-bags must be a number from 1 to 100000"),
            (.consumer, ["inspect", "a", "--max-bags", "100001"], "must be a number from 1 to 100000"),
            (.consumer, ["inspect", "a", "--patience", "0.09"], "--patience must be a number of seconds"),
            (.consumer, ["inspect", "a", "--patience", "86401"], "from 0.1 to 86400"),
            (.consumer, ["alias", "watch", "--after=-1"], "--after must be at least 0"),
            (.consumer, ["alias", "watch", "--count", "0"], "--count at least 1"),
            (.device, ["presence", "allow", "--delay=-1"], "--delay must be 0 to 600000 milliseconds"),
            (
                .device, ["presence", "allow", "--delay", "600001"],
                "--delay must be 0 to 600000 milliseconds"
            ),
        ])
    }

    @Test("The first and last number of a range are accepted")
    func ends() async throws {
        let name = String(repeating: "a", count: 256)
        let cases: [(BuiltCommand, [String], Int32)] = [
            (.provider, ["conformance", "--list", "--timeout", "0.01", "--memory", "16", "--jobs", "1"], 0),
            (
                .provider,
                ["conformance", "--list", "--timeout", "3600", "--memory", "1048576", "--jobs", "1024"], 0
            ),
            (
                .provider,
                ["serve", "--pasteboard-expiry", "0", "--presence-cache", "0", "--presence-timeout", "0"], 73
            ),
            (
                .provider,
                [
                    "serve", "--pasteboard-expiry", "86400", "--presence-cache", "86400",
                    "--presence-timeout", "80",
                ], 73
            ),
            (.provider, ["provision", "--generations", "1", "--count", "1"], 73),
            (.provider, ["provision", "--generations", "100", "--count", "1000000"], 73),
            (.provider, ["export", "a", "--iterations", "1"], 73),
            (.provider, ["export", "a", "--iterations", "2000000", "--friendly-name", name], 73),
            (.consumer, ["inspect", "missing", "--max-bags", "1", "--patience", "0.1"], 74),
            (.consumer, ["inspect", "missing", "--max-bags", "100000", "--patience", "86400"], 74),
            (.consumer, ["alias", "watch", "--after", "0", "--count", "1"], 73),
            (.device, ["presence", "allow", "--delay", "0"], 73),
            (.device, ["presence", "allow", "--delay", "600000"], 73),
        ]
        for (command, arguments, status) in cases {
            let result = try await run(command, arguments)
            #expect(result.status == status, "\(arguments): \(result.errors)")
        }
    }

    @Test("Options that exclude or require each other are usage errors that name them")
    func combinations() async throws {
        let person = "EXAMPLE.DANA.1234567890"
        try await expectUsageErrors([
            (
                .provider, ["conformance", "--list", "--", "true"],
                "--list cannot be combined with a consumer"
            ),
            (.provider, ["faults", "--seed", "1"], "--seed requires --write"),
            (.provider, ["faults", "--person", person], "--person and the password require --write"),
            (.provider, ["faults", "--profile", "pbmac1"], "and the password require --write"),
            (.provider, ["list", "Encryption", "--mechanism", "legacy"], "a legacy list has no folders"),
            (
                .provider,
                ["export", "--for", "sample-key-provider-2025", "--mechanism", "legacy", "-o", "a"],
                "--for selects files"
            ),
            (.provider, ["trust", "--crl", "--json"], "--crl and --json cannot be combined"),
            (.provider, ["trust", "-o", "a", "--json"], "-o and --json cannot be combined"),
            (
                .provider, ["provision", "--person", person, "--count", "2"],
                "cannot be combined with --count"
            ),
            (.provider, ["provision", "--persons", "a", "--person", person], "--persons cannot be combined"),
            (.provider, ["provision", "--persons", "a", "--count", "2"], "--persons cannot be combined"),
            (
                .consumer, ["alias", "choose", "a", "--for", "signing"],
                "an alias and --for cannot be combined"
            ),
            (.consumer, ["alias", "choose", "--port", "443"], "--port requires --host"),
            (.consumer, ["decrypt", "--token", "--alias", "a"], "--token and --alias cannot be combined"),
            (.consumer, ["sign", "--token", "--alias", "a"], "--token and --alias cannot be combined"),
            (
                .consumer, ["verify", "--token", "--alias", "--trust", "a"],
                "--token, --alias and --file cannot be combined"
            ),
            (
                .consumer, ["token", "matrix", "--first", "--identity", "a"],
                "--first and --identity cannot be combined"
            ),
            (
                .consumer, ["import", "a", "--allow-paste", "--deny-paste"],
                "--allow-paste and --deny-paste cannot be combined"
            ),
            (.device, ["pkcs11", "--for", "firefox", "--path"], "--for and --path cannot be combined"),
        ])
    }

    @Test("A value of the wrong form is a usage error that contains the correct form or the known names")
    func forms() async throws {
        try await expectUsageErrors([
            (.provider, ["conformance", "--list", "--refused-by", "0"], "list of exit codes from 1 to 255"),
            (
                .provider, ["conformance", "--list", "--refused-by", "256"],
                "list of exit codes from 1 to 255"
            ),
            (.provider, ["conformance", "--list", "--refused-by", "1,"], "list of exit codes from 1 to 255"),
            (.provider, ["provision", "--types", ","], "--types requires at least one type"),
            (.provider, ["provision", "--key", "rsa1024"], "is not one of rsa2048, rsa3072, rsa4096, p256"),
            (.provider, ["export", "a", "--profile", "modren"], "is not a profile; use one of modern, "),
            (.consumer, ["decrypt", "--part", "2.0", "a"], "\u{201C}2.0\u{201D} is not the path of a part"),
            (.consumer, ["decrypt", "--part", "2.", "a"], "\u{201C}2.\u{201D} is not the path of a part"),
            (.consumer, ["verify", "--fetch", "--fetch-from", "a/b", "--trust", "a"], "is not a host name"),
            (.consumer, ["verify", "--fetch", "--fetch-from", "", "--trust", "a"], "is not a host name"),
            (.consumer, ["browse", "--socket", ""], "--socket requires a path"),
            (.device, ["status", "--device", ""], "--device requires a path"),
        ])
        #expect(try await simulation.consumer("decrypt", "--part", "2.10", "a").status == 73)
        let codes = try await simulation.provider("conformance", "--list", "--refused-by", "1,255")
        #expect(codes.status == 0)
    }

    @Test("The password of test vectors must be UTF-8, must not be empty, and must not contain a zero byte")
    func vectorPasswords() async throws {
        let folder = simulation.scratch.path("vectors")
        for (index, password) in ([[], [0x61, 0, 0x62], [0xFF]] as [[UInt8]]).enumerated() {
            let file = try simulation.scratch.write(password, as: "password-\(index)")
            let written = try await simulation.provider("faults", "--write", folder, "--password-file", file)
            #expect(written.status == 64, "\(password)")
            #expect(written.errors.contains("must be non-empty UTF-8 without zero bytes"), "\(password)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test("A passcode has 4 to 64 bytes")
    func passcodes() async throws {
        let other = try Simulation()
        for (count, status) in [(3, 64), (4, 0), (64, 0), (65, 64)] as [(Int, Int32)] {
            let file = try other.write(String(repeating: "7", count: count), as: "passcode-\(count)")
            let set = try await other.device("passcode", "set", "--password-file", file)
            #expect(set.status == status, "\(count): \(set.errors)")
            #expect(set.errors.contains("a passcode must be 4 to 64 bytes long") == (status == 64))
        }
    }
}

@Suite("Commands that find nothing to process, and the user's terminal", .timeLimit(.minutes(10)))
struct NothingToProcessTests {
    private let simulation: Simulation
    private var trust: String { simulation.scratch.path("trust.pem") }

    init() async throws {
        simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        try await simulation.provider("trust", "-o", trust)
    }

    @Test("A command that finds nothing to process returns exit code 9 and names the missing objects")
    func nothing() async throws {
        #expect(try await simulation.provider("clear", "--yes").status == 0)
        try await simulation.serve()
        let folder = simulation.scratch.path("folder")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let output = simulation.scratch.path("output")
        let provider = [
            (["trust"], "the provider has no test PKI"),
            (["mail", "-o", output], "no identity can encrypt or sign"),
            (["export", "--all", "-o", output], "there is nothing to export"),
        ]
        let consumer = [
            (["token", "matrix"], "no token is registered"),
            (["verify", "--token", "--trust", trust], "no token is registered"),
            (["verify", "--alias", "--trust", trust], "KeyChain has no entries"),
            (["verify", "--trust", trust], "the keychain contains no identities"),
            (["decrypt", folder], "folder contains no files"),
        ]
        for (arguments, words) in provider {
            let run = try await simulation.provider(arguments)
            #expect(run.status == 9 && run.errors.contains(words), "\(arguments): \(run.errors)")
        }
        for (arguments, words) in consumer {
            let run = try await simulation.consumer(arguments)
            #expect(run.status == 9 && run.errors.contains(words), "\(arguments): \(run.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: output))
    }

    @Test("Binary data is written to a terminal only with -o -")
    func binaryOnTerminal() async throws {
        let command = "keyshare-provider trust --root-only --format der"
        // The folder of the commands is only in the PATH of the terminal.
        let environment = RunningCommand.inheritedEnvironment.filter { $0.key != "PATH" }
            .merging(["KEYSHARE_DEVICE": simulation.device]) { $1 }
        func status(_ script: String) async throws -> Int32 {
            try await TerminalRun.run(
                script, columns: 110, in: simulation.scratch.path, environment: environment
            ).status
        }
        #expect(try await status(command) == 64)
        #expect(try await status(command + " -o -") == 0)
    }

    /// Answers a command's question on a terminal, and prints the exit code of the command.
    private static let answering = """
        import os, pty, sys
        answer, command, device = sys.argv[1:]
        child, terminal = pty.fork()
        if child == 0:
            os.execv(command, [command, "clear", "--device", device])
        os.write(terminal, (answer + "\\n").encode())
        try:
            while os.read(terminal, 4096): pass
        except OSError: pass
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """

    @Test(
        "Clear asks for confirmation on a terminal, and keeps everything unless the answer is y or yes",
        .enabled(if: SecondClient.isAvailable, "there is no python3"))
    func confirmation() async throws {
        func clear(_ answer: String) async throws -> String {
            try await SecondClient.python(
                ["-c", Self.answering, answer, BuiltCommand.provider.path, simulation.device]
            ).output
        }
        let before = try await simulation.items().map(\.identifier)
        for answer in ["n", "", "yess"] {
            #expect(try await clear(answer) == "10\n", "\(answer)")
            #expect(try await simulation.items().map(\.identifier) == before)
        }
        #expect(try await clear("Yes") == "0\n")
        #expect(try await simulation.provider("trust").status == 9)
    }
}
