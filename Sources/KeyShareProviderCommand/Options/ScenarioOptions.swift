import ArgumentParser
import CommandSupport
import Diagnostics
import Foundation
import KeyShareProvider
import Scenarios

/// The scenario to provision.
struct ScenarioOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Provision a scenario: one of --list-scenarios, or a YAML file; - is standard input.",
            valueName: "name|file"), completion: .scenarios)
    var scenario: String?

    @Flag(help: "List the built-in scenarios, and create nothing.")
    var listScenarios = false

    func validate() throws {
        if listScenarios, scenario != nil {
            throw ValidationError("--list-scenarios and --scenario cannot be combined")
        }
    }

    /// Returns the scenario; nil without `--scenario`. A value that contains a slash or a dot, or that is not the name
    /// of a built-in scenario, is the path of a file.
    ///
    /// - Throws: `ProvisioningError` for an unknown or malformed scenario, `CommandFailure` if the file cannot be read.
    func read() throws -> Scenario? {
        guard let scenario else { return nil }
        let isPath = scenario == "-" || scenario.contains("/") || scenario.contains(".")
        guard isPath || FileManager.default.fileExists(atPath: scenario) else {
            return try Scenario.named(scenario)
        }
        if !isPath, let known = Scenario.builtIn.first(where: { $0.name == scenario }) { return known }
        let bytes = try InputFile.read(scenario, limit: Scenario.largestFile)
        let name = URL(fileURLWithPath: scenario).deletingPathExtension().lastPathComponent
        return try Scenario(
            yaml: bytes, name: name, source: scenario == "-" ? "standard input" : scenario)
    }

    /// Writes the list of built-in scenarios.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    static func list(_ console: Console) throws {
        try console.present(ScenariosDocument(Scenario.builtIn)) {
            var table = Table("SCENARIO", .init("DESCRIPTION", .wraps(30)))
            for scenario in Scenario.builtIn { table.append(scenario.name, scenario.description) }
            try console.table(table)
        }
    }
}
