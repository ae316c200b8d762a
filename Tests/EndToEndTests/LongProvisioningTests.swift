import CommandSupport
import Foundation
import Glibc
import KeyShareProviderCommand
import TestSupport
import Testing

@Suite("Long provisioning runs", .timeLimit(.minutes(10)))
struct LongProvisioningTests {
    private let simulation: Simulation

    init() throws {
        simulation = try Simulation()
    }

    private func count() async throws -> Int {
        try await simulation.items().filter { $0.kind == "pkcs12" }.count
    }

    /// The words of the continuation command that an interrupted run prints.
    private func continuation(of run: CommandRun) throws -> String {
        let lines = run.errors.split(separator: "\n").filter { $0.hasPrefix("to continue: ") }
        return String(try #require(lines.last).dropFirst("to continue: ".count))
    }

    @Test("Ctrl-C stores the finished keys and prints the command that continues the run")
    func interrupted() async throws {
        // Enough that a busy machine still interrupts the run before its end.
        let total = 20_000
        let arguments = [
            "provision", "--count", String(total), "--generations", "1", "--types", "signature", "--key",
            "p256",
        ]
        let running = try RunningCommand(
            .provider, arguments, environment: ["KEYSHARE_DEVICE": simulation.device])
        // Some identities are stored, and most are not.
        try await running.wait(until: { ((try? simulation.keychainSize()) ?? 0) > 300_000 })
        running.signal(SIGINT)
        let run = try await running.finish()
        #expect(run.status == -SIGINT)
        let command = try continuation(of: run)
        #expect(command == "keyshare-provider " + arguments.joined(separator: " "))
        let stored = try await count()
        #expect(stored > 0 && stored < total)
        #expect(run.errors.contains("created \(stored) identities"))
        let rest = try await simulation.provider(command.split(separator: " ").dropFirst().map(String.init))
        #expect(rest.status == 0 && rest.errors.contains("\(stored) already existed"))
        #expect(try await count() == total)
    }

    @Test("A long run prints an estimate and faster options, and a short run prints no estimate")
    func estimate() async throws {
        let running = try simulation.start(
            .provider, "provision", "--count", "20000", "--generations", "1", "--types", "signature", "--key",
            "rsa4096")
        try await running.waitForError(containing: "RSA-4096 keys on ")
        running.signal(SIGINT)
        let run = try await running.finish()
        #expect(run.errors.contains("about ") && run.errors.contains("; --key p256 takes "))
        #expect(run.errors.contains(", and --key-pool 64 "))
        #expect(run.status == -SIGINT)
        #expect(
            try continuation(of: run).hasPrefix("keyshare-provider provision --count 20000 --generations 1"))
        let short = try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        #expect(!short.errors.contains("about "))
    }

    @Test("A long scenario prints an estimate, and Ctrl-C prints the command that continues it")
    func scenario() async throws {
        let file = try simulation.write(
            """
            description: Many large keys.
            persons:
              - count: 20000
                credentials:
                  - types: signature
                    generations: 1
                    key: rsa4096
            """, as: "many.yaml")
        let running = try simulation.start(.provider, "provision", "--scenario", file)
        try await running.waitForError(containing: "20,000 RSA-4096 keys on ")
        running.signal(SIGINT)
        let run = try await running.finish()
        #expect(run.status == -SIGINT)
        #expect(run.errors.contains("; the scenario with \u{201C}key: p256\u{201D} takes "))
        #expect(try continuation(of: run) == "keyshare-provider provision --scenario \(file)")
    }

    @Test("After Ctrl-C, provision --renew continues, and renews every identity of every group once")
    func renewal() async throws {
        // Persons with keys of another algorithm are renewed in a group of their own, and this one is first.
        let few = 3
        let many = 1500
        for (count, key) in [(few, "p256"), (many, "p384")] {
            try await simulation.provider(
                "provision", "--count", String(count), "--types", "signature", "--key", key, "--dates",
                "2 years ago")
        }
        let size = try simulation.keychainSize()
        let running = try simulation.start(.provider, "provision", "--renew")
        try await running.wait(until: { ((try? simulation.keychainSize()) ?? 0) > size + 300_000 })
        running.signal(SIGINT)
        let run = try await running.finish()
        #expect(run.status == -SIGINT)
        #expect(try continuation(of: run) == "keyshare-provider provision --renew")
        let renewed = try await count() - few - many
        #expect(renewed > few && renewed < few + many)
        let rest = try await simulation.provider("provision", "--renew")
        #expect(rest.status == 0 && rest.errors.contains("\(renewed) already existed"))
        #expect(try await count() == 2 * (few + many))
        #expect(try await simulation.provider("provision", "--renew", "--types", "signature").status == 0)
        #expect(try await count() == 3 * (few + many))
    }

    @Test("--key-pool creates identities that share keys, and prints a note")
    func keyPool() async throws {
        let run = try await simulation.provider(
            "provision", "--count", "6", "--generations", "1", "--key-pool", "2", "--seed", "1", "--json")
        #expect(run.status == 0)
        #expect(try run.document(ProvisioningDocument.self).keyPool == 2)
        #expect(try run.document(ProvisioningDocument.self).made == 18)
        #expect(
            run.errors.contains("the keys come from a pool of 2; use these identities only for load tests\n"))
        #expect(try await simulation.provider("check").status == 0)
        for value in ["0", "x", "100001"] {
            #expect(try await simulation.provider("provision", "--key-pool", value).status == 64)
        }
        let renewal = try await simulation.provider("provision", "--renew", "--key-pool", "2")
        #expect(renewal.status == 64)
    }
}

extension Simulation {
    /// The size of the keychain's files in bytes.
    fileprivate func keychainSize() throws -> Int {
        let folder = device + "/keychain"
        return try FileManager.default.contentsOfDirectory(atPath: folder).reduce(0) { size, name in
            let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
            return size + (attributes[.size] as? Int ?? 0)
        }
    }
}
