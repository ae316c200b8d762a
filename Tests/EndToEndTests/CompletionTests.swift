import CommandSupport
import Foundation
import KeySharing
import TestSupport
import Testing

@Suite("Completions of values", .timeLimit(.minutes(10)))
struct CompletionTests {
    /// The completion scripts of the commands. A debug build takes much longer to generate a script than to use it.
    private static let scripts = Task {
        var scripts: [String: [UInt8]] = [:]
        for command in BuiltCommand.allCases {
            let run = try await RunningCommand(command, ["--generate-completion-script", "bash"]).finish()
            scripts[command.rawValue] = Array(run.output)
        }
        return scripts
    }

    /// Writes the completion script of a command, and returns its path.
    private func completionScript(_ command: String, in scratch: ScratchFolder) async throws -> String {
        try scratch.write(try #require(try await Self.scripts.value[command]), as: "\(command).bash")
    }

    /// The candidates that bash gets if TAB is pressed after these words; the last may be empty.
    private func candidates(
        _ words: String..., device: String, in scratch: ScratchFolder
    ) async throws -> (status: Int32, lines: [String]) {
        try await candidates(words, device: device, in: scratch)
    }

    private func candidates(
        _ words: [String], device: String, in scratch: ScratchFolder
    ) async throws -> (status: Int32, lines: [String]) {
        let quoted = words.map { "'\($0)'" }.joined(separator: " ")
        let script = """
            source \(try await completionScript(words[0], in: scratch))
            COMP_WORDS=(\(quoted)) COMP_CWORD=\(words.count - 1) COMP_LINE="${COMP_WORDS[*]}"
            COMP_POINT=${#COMP_LINE}
            _\(words[0]) \(words[0]) "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let run = try await TerminalRun.run(
            script, columns: 200, in: scratch.path, environment: ["KEYSHARE_DEVICE": device, "TERM": "dumb"])
        return (run.status, run.lines.filter { !$0.isEmpty })
    }

    @Test(
        "The first --uti completes types of both mechanisms, and later ones only types of the same mechanism")
    func uniformTypes() async throws {
        let simulation = try Simulation()
        let (device, scratch) = (simulation.device, simulation.scratch)
        let all = try await candidates(
            "keyshare-consumer", "browse", "--uti", "", device: device, in: scratch)
        let both: [String] = Mechanism.keySharing2025.requestableTypes + Mechanism.legacy.requestableTypes
        #expect(Set(all.lines) == Set(both))
        let second = try await candidates(
            "keyshare-consumer", "browse", "--uti", "purebred2025.select.all", "--uti",
            "purebred2025.select.all", device: device, in: scratch)
        #expect(
            second.lines == [
                "purebred2025.select.all-user", "purebred2025.select.all-user-p12",
                "purebred2025.select.all-p12",
            ])
        let legacy = try await candidates(
            "keyshare-consumer", "browse", "--mechanism", "legacy", "--uti", "purebred", device: device,
            in: scratch)
        #expect(legacy.lines.allSatisfy { $0.hasPrefix("purebred.") } && legacy.lines.count == 14)
    }

    @Test(
        "Values of a fixed set are completed",
        arguments: [
            ("keyshare-provider serve --fault cut-s", ["cut-start", "cut-services", "cut-stop"]),
            ("keyshare-provider provision --scenario three", ["three-renewals"]),
            ("keyshare-provider provision --key p", ["p256", "p384"]),
            ("keyshare-provider provision --profile dod-20", ["dod-2018", "dod-2021", "dod-2024"]),
            ("keyshare-provider provision --types device,sig", ["device,signature"]),
            ("keyshare-provider provision --fault not-yet", ["not-yet-valid"]),
            ("keyshare-provider export --profile mod", ["modern"]),
            ("keyshare-consumer browse --preset every", ["every-signature", "everything"]),
            ("keyshare-consumer import --mechanism legacy --preset every", ["every-signature"]),
            ("keyshare-provider conformance --only zip-s", ["zip-slip", "zip-symlink"]),
            ("keyshare-provider conformance --skip archives --skip fo", ["formats"]),
            ("keyshare-provider conformance --claims p", ["parse", "path"]),
            ("keyshare-provider vectors --format j", ["json"]),
            ("keyshare-provider conformance --reports j", ["json"]),
            ("keyshare-consumer browse Enc", ["Encryption"]),
        ])
    func fixed(line: String, expected: [String]) async throws {
        let simulation = try Simulation()
        let words = line.split(separator: " ").map(String.init)
        let script = """
            source \(try await completionScript(words[0], in: simulation.scratch))
            COMP_WORDS=(\(line)) COMP_CWORD=\(words.count - 1) COMP_LINE="\(line)" COMP_POINT=\(line.count)
            _\(words[0]) \(words[0]) "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let run = try await TerminalRun.run(
            script, columns: 200, in: simulation.scratch.path, environment: ["TERM": "dumb"])
        let candidates = run.lines.filter { !$0.isEmpty }
        #expect(candidates == expected)
    }

    @Test("Completion offers each label and item of the current device once")
    func device() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        let (device, scratch) = (simulation.device, simulation.scratch)
        let labels = try await candidates(
            "keyshare-provider", "show", "", device: device, in: scratch
        ).lines.filter { !$0.hasPrefix("-") }
        #expect(labels.count == 1 && labels[0].count == 64)
        let label = try #require(labels.first)
        #expect(
            try await candidates(
                "keyshare-provider", "revoke", label, "", device: device, in: scratch
            ).lines.contains(label) == false)
        let exported = try await candidates(
            "keyshare-provider", "export", "Signature/", device: device, in: scratch)
        #expect(exported.lines.count == 1 && exported.lines[0].hasPrefix("Signature/signature_"))
        try await simulation.serve()
        let offered = try await candidates(
            "keyshare-consumer", "import", "Sig", device: device, in: scratch)
        #expect(offered.lines == ["Signature/", "Signature.zip"])
        try await simulation.consumer(
            "import", "Signature.zip", "--uti", "purebred2025.zip.signature")
        let held = try await candidates(
            "keyshare-consumer", "show", String(label.prefix(4)), device: device, in: scratch)
        #expect(held.lines == [label])
    }

    @Test("decrypt and sign complete the labels of tokens if the line contains --token")
    func keys() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature", "--token-only")
        try await simulation.serve()
        let (device, scratch) = (simulation.device, simulation.scratch)
        for command in ["sign", "decrypt"] {
            let token = try await candidates(
                "keyshare-consumer", command, "--token", "--label", "", device: device, in: scratch)
            #expect(token.lines.count == 1 && token.lines[0].count == 64, "\(command)")
            // The keychain of the consumer has no identities.
            let imported = try await candidates(
                "keyshare-consumer", command, "--label", "", device: device, in: scratch)
            #expect(imported.lines == [], "\(command)")
        }
    }

    @Test("Arguments that name an alias complete aliases, also those with spaces and characters of the shell")
    func aliases() async throws {
        let simulation = try Simulation()
        let (device, scratch) = (simulation.device, simulation.scratch)
        func aliases(_ line: String...) async throws -> [String] {
            let words = line.map { $0.replacing("'", with: "'\\''") }
            return try await candidates(words, device: device, in: scratch).lines.filter {
                !$0.hasPrefix("-")
            }
        }
        #expect(try await aliases("keyshare-provider", "alias", "remove", "") == [])
        #expect(try await aliases("keyshare-device", "aliases", "--revoke", "") == [])
        #expect(!FileManager.default.fileExists(atPath: device))
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature,encryption")
        try await simulation.provider("alias", "add")
        let strange = "$(touch \(scratch.path("harm"))) it's"
        try await simulation.provider("alias", "rename", "Purebred Recovered #1", strange)
        let signing = "Purebred Digital Signature Certificate"
        for line in [["alias", "remove", ""], ["alias", "rename", ""]] {
            #expect(try await aliases("keyshare-provider", line[0], line[1], "") == [strange, signing])
        }
        #expect(try await aliases("keyshare-provider", "alias", "remove", "Purebred\\ Dig") == [signing])
        #expect(try await aliases("keyshare-provider", "alias", "remove", "'Purebred Dig") == [signing])
        #expect(try await aliases("keyshare-provider", "alias", "remove", "'\(signing)'", "Pure") == [])
        #expect(
            try await aliases("keyshare-device", "presence", "answer", "yes", "--alias", "P") == [signing])

        // The consumer queries the provider, and only if the user has allowed that.
        try await simulation.serve()
        #expect(try await aliases("keyshare-consumer", "alias", "choose", "") == [])
        let decisions = try await simulation.device("aliases", "--json").document(AliasesDocument.self)
        #expect(decisions.apps.map(\.readAlias) == ["undecided"])
        try await simulation.consumer("alias", "choose", signing)
        try await simulation.device("aliases", "--permission", "allow")
        #expect(try await aliases("keyshare-consumer", "alias", "choose", "") == [strange, signing])
        for line in [
            ["alias", "sign", "--alias"], ["alias", "decrypt", "--alias"], ["sign", "--alias", "--label"],
            ["decrypt", "--alias", "--label"],
        ] {
            let found = try await aliases("keyshare-consumer", line[0], line[1], line[2], "Pure")
            #expect(found == [signing], "\(line)")
        }
        #expect(try await aliases("keyshare-consumer", "verify", "--alias", "Pure") == [signing])
        #expect(try await aliases("keyshare-device", "aliases", "--revoke", "") == [signing])
        #expect(
            try await aliases("keyshare-device", "aliases", "--app", "red") == ["red.hound.keyshare.consumer"]
        )
        #expect(!FileManager.default.fileExists(atPath: scratch.path("harm")))
    }

    @Test("File names that contain commands of the shell are completed, but not executed")
    func fileNames() async throws {
        let simulation = try Simulation()
        let (device, scratch) = (simulation.device, simulation.scratch)
        for name in ["x$(touch harm).yaml", "x`touch harm`.yaml", "x it's.yaml", "x\n$(touch harm).yaml"] {
            _ = try scratch.write([], as: name)
        }
        try FileManager.default.createDirectory(
            atPath: scratch.path("x$(touch harm)"), withIntermediateDirectories: false)
        let words = ["keyshare-provider", "provision", "--scenario", "x"]
        let found = try await candidates(words, device: device, in: scratch).lines
        #expect(
            Set(found) == ["x$(touch harm)/", "x$(touch harm).yaml", "x`touch harm`.yaml", "x it's.yaml"])
        #expect(!FileManager.default.fileExists(atPath: scratch.path("harm")))
    }

    @Test("An invalid completion request returns no candidates")
    func senseless() async throws {
        let run = try await RunningCommand(.consumer, ["---completion", "nothing"]).finish()
        #expect(run.status == ExitStatus.usage.rawValue && run.text.isEmpty && run.errors.isEmpty)
    }

    @Test("Completion without a device prints nothing and creates no device")
    func noDevice() async throws {
        let simulation = try Simulation()
        for line in [
            ["keyshare-consumer", "show", "A"], ["keyshare-consumer", "import", "E"],
            ["keyshare-provider", "export", "E"], ["keyshare-provider", "revoke", "A"],
        ] {
            let got = try await candidates(
                line[0], line[1], line[2], device: simulation.device, in: simulation.scratch)
            #expect(got.lines == [], "\(line)")
        }
        #expect(!FileManager.default.fileExists(atPath: simulation.device))
    }
}
