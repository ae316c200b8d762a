import Diagnostics
import TestCredentials
import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider

/// Which scenario is made.
struct ScenarioOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Make what a scenario describes: one of --list-scenarios, or a YAML file; - is standard input.",
            valueName: "name|file"))
    var scenario: String?

    @Flag(help: "List the scenarios that there are, and make nothing.")
    var listScenarios = false

    func validate() throws {
        if listScenarios, scenario != nil {
            throw ValidationError("--list-scenarios goes without --scenario")
        }
    }

    /// The scenario; nil where none is asked for. What is no name of one, or has a slash or a dot in it, is a
    /// file.
    ///
    /// - Throws: `ProvisioningError` where there is none or it is wrong, `CommandFailure` where the file cannot
    ///   be read.
    func read() throws -> Scenario? {
        guard let scenario else { return nil }
        let isPath = scenario == "-" || scenario.contains("/") || scenario.contains(".")
        guard isPath || FileManager.default.fileExists(atPath: scenario) else {
            return try Scenario.named(scenario)
        }
        if !isPath, let known = Scenario.builtIn.first(where: { $0.name == scenario }) { return known }
        let bytes = try InputFile.read(scenario, limit: Self.largest)
        let name = URL(fileURLWithPath: scenario).deletingPathExtension().lastPathComponent
        return try Scenario(
            yaml: bytes, name: name, source: scenario == "-" ? "standard input" : scenario)
    }

    /// Writes the list of built-in scenarios.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    static func list(_ console: Console) throws {
        try console.present(ScenariosDocument(Scenario.builtIn)) {
            var table = Table("SCENARIO", "WHAT IT IS")
            for scenario in Scenario.builtIn { table.append(scenario.name, scenario.description) }
            try console.lines(table.text)
        }
    }

    /// The size of the largest file of a scenario, in bytes; a thousand persons by name fit.
    private static let largest = 1 << 20
}
