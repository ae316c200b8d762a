import CommandSupport
import Foundation
import KeyShareConsumerCommand
import KeyShareProviderCommand
import TestSupport
import Testing

@Suite("Scenarios, end to end", .timeLimit(.minutes(10)))
struct ScenarioTests {
    private let simulation: Simulation

    init() throws {
        simulation = try Simulation()
    }

    private static let type = "purebred2025.select.signature-p12"

    @Test("A scenario configures later runs of serve, unless options or --ignore-scenario override it")
    func service() async throws {
        let file = try simulation.write(
            """
            description: One certificate, and no password for it.
            persons:
              - name: Dana Example
                credentials:
                  - types: signature
                    key: p256
            encoder: {profile: compatible, friendly-name: Dana's}
            service: {fault: neither}
            """, as: "dana.yaml")
        let made = try await simulation.provider("provision", "--scenario", file, "--json")
            .document(ProvisioningDocument.self)
        #expect(made.made == 1)
        #expect(made.scenario == "dana")
        #expect(made.service?.fault == "neither")

        try await simulation.serve()
        #expect(try await importSignature().status == 8)
        let said = try await simulation.stopServing().errors
        #expect(said.contains("following the scenario dana, except for options: fault neither"))

        try await simulation.serve("--fault", "other-services-first", "--profile", "modern")
        #expect(try await importSignature().status == 0)
        try await simulation.stopServing()
        try await simulation.serve("--ignore-scenario")
        #expect(try await importSignature().status == 0)
        #expect(!(try await simulation.stopServing().errors.contains("dana")))

        #expect(try await exported().contains("pbeWithSHA1And3-KeyTripleDES-CBC 2048"))
        try await simulation.provider("clear", "--yes")
        try await simulation.provider("provision", "--types", "signature", "--key", "p256")
        #expect(!(try await exported().contains("pbeWithSHA1And3-KeyTripleDES-CBC 2048")))
        try await simulation.serve()
        #expect(try await importSignature().status == 0)
        try await simulation.stopServing()
    }

    private func importSignature() async throws -> CommandRun {
        let item = try #require(try await simulation.items("Signature").first).identifier
        return try await simulation.consumer("import", item, "--uti", Self.type)
    }

    /// The encryption of an exported file, as `inspect` reports it.
    private func exported() async throws -> [String] {
        let item = try await simulation.firstIdentifier()
        let file = simulation.scratch.path("exported.p12")
        let password = try simulation.write("password", as: "password")
        try await simulation.provider("export", item, "--force", "-o", file, "--password-file", password)
        return try await simulation.inspect(file, passwordFile: password).encryptionText
    }

    @Test("A scenario with a seed and a date produces equal lists on two devices")
    func seeded() async throws {
        let other = try Simulation()
        let arguments = [
            "provision", "--scenario", "elliptic-curves", "--seed", "7", "--at", "2026-01-01", "--json",
        ]
        let first = try await simulation.provider(arguments)
        #expect(first.status == 0)
        #expect(first.errors.contains("INSECURE"))
        #expect(try await other.provider(arguments).text == first.text)
        #expect(try await simulation.provider("trust").text == other.provider("trust").text)
    }

    @Test("The list of scenarios shows the outcome of each, and needs no device")
    func list() async throws {
        let run = try await simulation.provider("provision", "--list-scenarios", "--json")
        let scenarios = try run.document(ScenariosDocument.self).scenarios
        #expect(scenarios.count == 21)
        #expect(scenarios.allSatisfy { $0.outcome != nil })
        #expect(!FileManager.default.fileExists(atPath: simulation.device))
    }

    @Test("A scenario is read from standard input, and an invalid one generates nothing")
    func standardInput() async throws {
        let good = "description: Nobody.\npersons: []\n"
        #expect(try await simulation.provider("provision", "--scenario", "-", input: good).status == 0)
        let run = try await simulation.provider(
            "provision", "--scenario", "-", "--json", input: good + "colour: blue\n")
        #expect(run.status == 64)
        #expect(run.errors.hasPrefix("keyshare-provider: standard input:3:1: a scenario has no key"))
        #expect(try run.errorCode() == "malformed-scenario")
    }

    @Test(
        "Options that contradict a scenario are rejected",
        arguments: [
            ["--person", "Dana Example"], ["--count", "2"], ["--types", "device"], ["--generations", "4"],
            ["--key", "p256"], ["--renew"], ["--fault", "expired"], ["--seed", "1", "--shard", "1/2"],
            ["--policy-arc", "test"], ["--list-scenarios"],
        ])
    func conflicts(arguments: [String]) async throws {
        let run = try await simulation.provider(["provision", "--scenario", "fresh-user"] + arguments)
        #expect(run.status == 64)
        #expect(!FileManager.default.fileExists(atPath: simulation.device))
    }
}
