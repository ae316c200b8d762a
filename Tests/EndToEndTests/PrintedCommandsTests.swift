import Foundation
import TestSupport
import Testing

/// Runs the commands from documents, `--help` and hints exactly as printed.
@Suite("Documented commands run as printed", .timeLimit(.minutes(10)))
struct PrintedCommandsTests {
    /// A command of a document, and whether the document shows it failing.
    fileprivate struct Printed {
        let line: String
        var fails = false
    }

    /// The commands in the console blocks of a document, except for those that build the package.
    private static func commands(in document: String) throws -> [Printed] {
        commands(of: try String(contentsOfFile: "\(PackageFolder.path)/\(document)", encoding: .utf8))
    }

    /// The commands in the console blocks of a page.
    private static func commands(of text: String) -> [Printed] {
        var commands: [Printed] = []
        var isConsole = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isConsole = line.hasPrefix("```console")
            } else if isConsole, line.hasPrefix("$ ") {
                commands.append(Printed(line: String(line.dropFirst(2))))
            } else if isConsole, commands.last?.line.hasSuffix("\\") == true {
                commands[commands.count - 1].line(adding: String(line))
            } else if isConsole, line.firstMatch(of: #/^keyshare-[a-z]+: /#) != nil, !commands.isEmpty {
                commands[commands.count - 1].fails = true
            }
        }
        return commands.filter { command in
            !["swift ", "scripts/", ".ci/"].contains { command.line.hasPrefix($0) }
        }
    }

    /// A script that runs these commands in order, prints each whose outcome differs from the document, and waits for
    /// a provider that it starts.
    private static func script(_ commands: [Printed]) -> String {
        var lines = ["failed=0"]
        // Another program on this machine may use the default port.
        let port = "\(20_000 + ProcessInfo.processInfo.processIdentifier % 20_000)"
        for command in commands {
            let line = command.line.replacing("8080", with: port)
            let quoted = "'" + line.replacingOccurrences(of: "'", with: "'\\''") + "'"
            if line.hasSuffix("&") {
                lines += [
                    line, "until keyshare-consumer browse >/dev/null 2>&1; do kill -0 $! || exit 9; done",
                ]
            } else {
                lines.append(line)
                let isWrong = command.fails ? "[ $? -ne 0 ]" : "[ $? -eq 0 ]"
                lines.append("\(isWrong) || { echo FAILED: \(quoted); failed=1; }")
            }
        }
        return (lines + ["kill $(jobs -p) 2>/dev/null; wait", "exit $failed"]).joined(separator: "\n")
    }

    private func environment(_ scratch: ScratchFolder) -> [String: String] {
        ["KEYSHARE_DEVICE": scratch.path("device"), "TERM": "dumb"]
    }

    /// Expects that every line fits a terminal of 80 columns, except for lines with a path of this test.
    private func expectFitting(_ run: TerminalRun, in scratch: ScratchFolder, _ what: String) {
        for line in run.lines where line.count > 80 && !line.contains(scratch.path) {
            Issue.record("\(what) prints \(line.count) columns: \(line)")
        }
    }

    @Test("The commands of the README run as printed, and their output fits 80 columns")
    func readme() async throws {
        let scratch = try ScratchFolder()
        let commands = try Self.commands(in: "README.md")
        #expect(commands.count >= 6)
        let run = try await TerminalRun.run(
            Self.script(commands), columns: 80, in: scratch.path, environment: environment(scratch))
        #expect(run.status == 0, "\(run.lines.joined(separator: "\n"))")
        expectFitting(run, in: scratch, "the README")
    }

    @Test(
        "The commands of the pages in docs run as printed",
        arguments: ["docs/commands.md", "docs/mail.md", "docs/pki.md", "docs/scenarios.md"])
    func pages(page: String) async throws {
        let scratch = try ScratchFolder()
        let text = try String(contentsOfFile: "\(PackageFolder.path)/\(page)", encoding: .utf8)
        // If the commands of a page read a file, the page shows the content of the file.
        if let start = text.range(of: "```yaml\n"), let end = text[start.upperBound...].range(of: "\n```") {
            _ = try scratch.write(Array(text[start.upperBound..<end.lowerBound].utf8), as: "dana.yaml")
        }
        let before = [Printed(line: "keyshare-provider provision --key p256 --quiet >/dev/null")]
        let run = try await TerminalRun.run(
            Self.script(before + (try Self.commands(in: page))), columns: 80, in: scratch.path,
            environment: environment(scratch))
        #expect(run.status == 0, "\(run.lines.joined(separator: "\n"))")
        expectFitting(run, in: scratch, page)
    }

    @Test(
        "The commands of the tutorials run as printed, in an empty folder",
        arguments: ["first-import", "test-your-importer"])
    func tutorials(name: String) async throws {
        let scratch = try ScratchFolder()
        let commands = try Self.commands(in: "docs/tutorials/\(name).md")
        #expect(commands.count >= 6)
        let run = try await TerminalRun.run(
            Self.script(commands), columns: 80, in: scratch.path, environment: environment(scratch))
        #expect(run.status == 0, "\(run.lines.joined(separator: "\n"))")
    }

    /// The recipes of docs/recipes.md, each from its heading to the next.
    private static let recipes: [String] = {
        let text = try? String(contentsOfFile: "\(PackageFolder.path)/docs/recipes.md", encoding: .utf8)
        return (text ?? "").components(separatedBy: "\n## ").dropFirst().map(\.self)
    }()

    @Test(
        "Every recipe has at most ten commands, which run as printed on an empty device", arguments: recipes)
    func recipe(text: String) async throws {
        let scratch = try ScratchFolder()
        let commands = Self.commands(of: text)
        #expect((2...10).contains(commands.count), "\(text.prefix(40))")
        let run = try await TerminalRun.run(
            Self.script(commands), columns: 80, in: scratch.path, environment: environment(scratch))
        #expect(run.status == 0, "\(run.lines.joined(separator: "\n"))")
    }

    @Test("The page of recipes has an entry for each of its questions")
    func recipeQuestions() throws {
        let page = try String(contentsOfFile: "\(PackageFolder.path)/docs/recipes.md", encoding: .utf8)
        #expect(Self.recipes.count == 13)
        #expect(page.components(separatedBy: "| [below](#").count == 14)
    }

    @Test("The output of the demonstration fits 80 columns")
    func demonstration() async throws {
        let scratch = try ScratchFolder()
        let text = try String(contentsOfFile: "\(PackageFolder.path)/scripts/demo", encoding: .utf8)
        let start = try #require(text.range(of: "\ntitle \"A provider"))
        let script =
            "set -e\nscratch=\(scratch.path)\ntitle() { :; }\nrun() { \"$@\"; }\nexit_code=0\n"
            + text[start.lowerBound...]
        let run = try await TerminalRun.run(
            script, columns: 80, in: scratch.path, environment: environment(scratch))
        #expect(run.status == 0, "\(run.lines.joined(separator: "\n"))")
        let rows = run.lines.filter { !$0.hasPrefix("$ ") }
        #expect(rows.count > 40)
        for line in rows where line.count > 80 && !line.contains(scratch.path) {
            Issue.record("the demonstration prints \(line.count) columns: \(line)")
        }
    }

    /// The names of a command's subcommands, from its own help.
    private func subcommands(_ help: String) -> [String] {
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        let listed = lines.drop { $0 != "SUBCOMMANDS:" }.dropFirst().prefix { $0.hasPrefix("  ") }
        return listed.filter { !$0.hasPrefix("   ") }
            .compactMap { $0.split(separator: " ").first.map(String.init) }
    }

    /// The examples in a help text. A line that sets a variable belongs to the example on the next line.
    private func examples(_ help: String) -> [String] {
        var examples: [String] = []
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        for line in lines.drop(while: { $0 != "EXAMPLE:" }).dropFirst().prefix(while: { !$0.isEmpty }) {
            if examples.last.map(isUnfinished) == true {
                examples[examples.count - 1] += "\n" + line
            } else {
                examples.append(line.trimmingCharacters(in: .whitespaces))
            }
        }
        return examples
    }

    /// The output files of an example, which must not exist.
    private func outputs(of example: String) -> [Substring] {
        let words = example.split(whereSeparator: \.isWhitespace)
        let named = zip(words, words.dropFirst()).filter { $0.0 == "-o" || $0.0 == "backup" }
        return named.map(\.1).filter { !$0.hasPrefix("-") }
    }

    /// Changes an example so that it ends soon and needs no fixed port.
    private func shortened(_ example: String) -> String {
        var example = example.replacing(":8080", with: ":0").replacing("--fuzz 10m", with: "--fuzz 10")
        if !example.contains("--only") {
            example = example.replacing("conformance --skip", with: "conformance --only garbage --skip")
                .replacing("faults --write", with: "faults --only garbage --write")
        }
        let words = example.split(separator: " ")
        let isEndless = words.contains { ["serve", "web", "--watch"].contains($0) }
        return isEndless ? "timeout --preserve-status -s TERM 1 " + example : example
    }

    private func isUnfinished(_ example: String) -> Bool {
        example.hasSuffix("\\") || example.split(separator: "\n").last?.hasPrefix("label=") == true
    }

    /// The examples of a command and of all its subcommands.
    private func examples(of command: BuiltCommand, _ names: [String] = []) async throws -> [String] {
        let help = try await RunningCommand(command, names + ["--help"]).finish().text
        var examples = examples(help)
        for name in subcommands(help) { examples += try await self.examples(of: command, names + [name]) }
        return examples
    }

    /// Creates the files that examples and hints name, with the commands that a reader would use.
    private static let preparation = """
        set -e
        printf 'A secret\\n' > secret.txt
        printf '{"format":"keyshare-recording","version":1,"events":[]}' > recording.json
        keyshare-provider provision --key p256 --seed 1 --at 2026-01-01 --person 'Dana Example' >/dev/null 2>&1
        keyshare-provider export "$(keyshare-provider list Signature --json \\
          | sed -n 's/.*"identifier" : "\\(.*\\)".*/\\1/p' | head -n 1)" \\
          --password-file secret.txt -o signature.p12
        keyshare-provider export Encryption.zip --password-file secret.txt -o encryption.zip
        keyshare-provider trust -o test-ca.pem
        keyshare-provider trust -o test-ca.mobileconfig >/dev/null 2>&1
        keyshare-provider trust --crl -o authority.crl
        keyshare-provider backup provider.backup
        keyshare-consumer import --file encryption.zip --password-file secret.txt
        keyshare-consumer import --file signature.p12 --password-file secret.txt
        keyshare-provider mail -o mail
        printf 'A letter\\n' > letter.txt
        for report in old new; do
          keyshare-provider conformance --only garbage --json -- false {file} > "$report.json"
        done
        for part in part-1 part-2 old-phone; do
          keyshare-provider provision --device "$part" --key p256 --generations 1 >/dev/null 2>&1
        done
        """

    /// Creates two further devices: one with tokens and messages for their keys, and one with a KeyChain for the examples
    /// of alias sharing.
    private static let tokenAndAliasPreparation = """
        set -e
        export KEYSHARE_DEVICE=$PWD/tokens
        keyshare-provider provision --generations 1 --types signature,encryption >/dev/null 2>&1
        keyshare-provider token add --types signature,encryption --quiet
        keyshare-provider mail -o token-mail >/dev/null
        export KEYSHARE_DEVICE=$PWD/aliases
        keyshare-provider provision --generations 1 >/dev/null 2>&1
        keyshare-provider alias add --quiet >/dev/null
        """

    @Test("Every example of --help fits 80 columns and runs as printed", arguments: BuiltCommand.allCases)
    func examplesRun(command: BuiltCommand) async throws {
        let scratch = try ScratchFolder()
        let prepared = try await TerminalRun.run(
            Self.preparation + "\n" + Self.tokenAndAliasPreparation, columns: 80, in: scratch.path,
            environment: environment(scratch))
        #expect(prepared.status == 0, "\(prepared.lines.joined(separator: "\n"))")
        let examples = try await examples(of: command)
        #expect(examples.count >= 12)
        for (number, example) in examples.enumerated() {
            #expect(
                example.split(separator: "\n").allSatisfy { $0.count <= 78 },
                "too long for a terminal: \(example)")
            // VectorsTests runs these commands, which take many seconds.
            if example.hasPrefix("keyshare-provider vectors ") { continue }
            let words = example.split(separator: " ")
            let name = words.dropFirst().first.map(String.init) ?? ""
            let usesToken =
                example.hasPrefix("keyshare-consumer") && (name == "token" || words.contains("--token"))
            let usesAlias = ["alias", "aliases"].contains(name)
            let connects =
                usesToken || usesAlias && example.hasPrefix("keyshare-consumer") || name == "metrics"
                || example.hasPrefix("keyshare-consumer") && ["browse", "import", "explain"].contains(name)
            // Each example has its own copy of the folder, so examples do not affect each other.
            let script = """
                cp -a . \(scratch.path)-\(number) && cd \(scratch.path)-\(number) || exit 1
                export KEYSHARE_DEVICE=$PWD/device HOME=$PWD
                \(usesToken ? "export KEYSHARE_DEVICE=$PWD/tokens; rm -rf mail; mv token-mail mail" : "")
                \(usesAlias ? "export KEYSHARE_DEVICE=$PWD/aliases" : "")
                trap 'kill $(jobs -p) 2>/dev/null; cd /; rm -rf "$HOME"' EXIT
                rm -rf \(outputs(of: example).joined(separator: " "))
                \(connects ? "keyshare-provider serve 2>/dev/null & until keyshare-consumer browse >/dev/null 2>&1; do :; done" : "")
                \(usesAlias && connects ? "keyshare-consumer alias choose --for signing >/dev/null" : "")
                \(shortened(example))
                """
            let run = try await TerminalRun.run(
                script, columns: 80, in: scratch.path, environment: environment(scratch))
            // verify fails because older generations have expired, and conformance if the consumer under test fails a
            // test vector. The ciphertext for `decrypt` of tokens and aliases would come from another program, and is
            // missing. The backup for `restore` contains only keys that are bound to their device. No app has a grant
            // that could be revoked.
            let accepted: Set<Int32> =
                if example.contains("token decrypt") || example.contains("alias decrypt") {
                    [74]
                } else if example.contains("aliases --revoke") {
                    [9]
                } else if ["conformance", "verify"].contains(name) {
                    [0, 7]
                } else if example.hasPrefix("keyshare-device restore") {
                    [0, 10]
                } else {
                    shortened(example).hasPrefix("timeout") ? [0, 143] : [0]
                }
            #expect(
                accepted.contains(run.status),
                "\(example) ends with \(run.status):\n\(run.lines.joined(separator: "\n"))")
        }
    }

    @Test("Every command in the hints of docs/exit-codes.md is a valid command")
    func hints() async throws {
        let page = try String(contentsOfFile: "\(PackageFolder.path)/docs/exit-codes.md", encoding: .utf8)
        var advised = Set<String>()
        for line in page.split(separator: "\n") {
            guard let start = line.range(of: ": keyshare-")?.lowerBound else { continue }
            let command = line[start...].dropFirst(2).prefix { $0 != "|" }
            let text = command.trimmingCharacters(in: CharacterSet(charactersIn: " .")).replacing(
                "FILE", with: "signature.p12"
            ).replacing("DIR", with: "part-1")
            advised.insert(text)
        }
        #expect(advised.count >= 6)
        let scratch = try ScratchFolder()
        let prepared = try await TerminalRun.run(
            Self.preparation, columns: 80, in: scratch.path, environment: environment(scratch))
        #expect(prepared.status == 0)
        for command in advised.sorted() {
            let endless = command.contains(" serve") ? "timeout --preserve-status -s TERM 1 " : ""
            let input = command.hasSuffix("--password-stdin") ? "echo 4711 | " : ""
            let run = try await TerminalRun.run(
                input + endless + command, columns: 80, in: scratch.path, environment: environment(scratch))
            // A command that asks for confirmation, or needs a provider or a password, is also valid.
            #expect(
                [0, 3, 8, 10, 143].contains(run.status),
                "\(command) ends with \(run.status):\n\(run.lines.joined(separator: "\n"))")
        }
    }
}

extension PrintedCommandsTests.Printed {
    /// Adds a continuation line after a backslash.
    fileprivate mutating func line(adding text: String) {
        self = Self(line: line + "\n" + text, fails: fails)
    }
}
