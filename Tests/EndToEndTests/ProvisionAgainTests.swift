import CommandSupport
import Foundation
import KeyShareProviderCommand
import TestSupport
import Testing

@Suite("Provisioning again, with existing identities", .timeLimit(.minutes(10)))
struct ProvisionAgainTests {
    private let simulation: Simulation
    private let one = ["provision", "--key", "p256", "--generations", "1"]

    init() throws {
        simulation = try Simulation()
    }

    private func provision(_ arguments: [String]) async throws -> (CommandRun, ProvisioningDocument) {
        let run = try await simulation.provider(arguments + ["--json"])
        #expect(run.status == 0, "\(run.errors)")
        return (run, try run.document(ProvisioningDocument.self))
    }

    @Test("Repeating a command without a seed generates nothing, and --new generates new identities")
    func again() async throws {
        for extra in [[], ["--person", "Dana Example"]] {
            let (_, first) = try await provision(one + extra)
            #expect(first.made == 3 && first.alreadyThere == 0)
            let (run, second) = try await provision(one + extra)
            #expect(second.made == 0 && second.alreadyThere == 3)
            #expect(run.errors.contains("--new creates additional ones"))
            let (_, third) = try await provision(one + extra + ["--new"])
            #expect(third.made == 3 && third.alreadyThere == 0)
        }
        #expect(try await simulation.items().filter { $0.kind == "pkcs12" }.count == 12)
        // Each renewal adds a generation, for the two persons of the first runs and for Dana.
        let (_, renewed) = try await provision(["provision", "--renew", "--at", "2031-01-01"])
        let (_, next) = try await provision(["provision", "--renew", "--at", "2031-01-02"])
        #expect(renewed.made == 9 && next.made == 9)
        #expect(try await simulation.provider(one + ["--new", "--seed", "1"]).status == 64)
    }

    @Test("Without explicit dates, one PKI issues all identities, including defects and recovered keys")
    func onePKI() async throws {
        _ = try await provision(one)
        for arguments in [
            ["provision", "--fault", "revoked"], ["provision", "--fault", "expired"], ["provision"],
            ["provision", "--recovered", "4"], ["provision", "--scenario", "three-renewals"],
            ["provision", "--renew"],
        ] {
            let (run, document) = try await provision(
                arguments + (arguments.count == 1 ? ["--key", "p256"] : []))
            #expect(document.authorities.map(\.isNew) == [false], "\(arguments)")
            #expect(!run.errors.contains("another test PKI"))
        }
        let trust = try await simulation.provider("trust", "--json").document(AuthoritiesDocument.self)
        #expect(trust.certificates.count == 4)
    }

    @Test("Creating a second PKI prints a warning that names the issuer of the existing identities")
    func secondPKI() async throws {
        let (quiet, first) = try await provision(one)
        #expect(first.authorities.map(\.isNew) == [true] && first.authorities[0].besides.isEmpty)
        #expect(!quiet.errors.contains("another test PKI"))
        let (run, second) = try await provision(one + ["--at", "1970-01-02", "--person", "Old Timer"])
        #expect(second.authorities.map(\.isNew) == [true])
        #expect(second.authorities[0].besides == [first.authorities[0].root])
        #expect(run.errors.contains("created another test PKI, Test Root CA 2"))
        #expect(run.errors.contains("were issued by Test Root CA 1"))
        let (fault, third) = try await provision(["provision", "--fault", "revoked", "--at", "2090-01-01"])
        #expect(third.authorities[0].besides.count == 2 && fault.errors.contains("Test Root CA 3"))
        // The first PKI still issues certificates whose dates it covers.
        let (_, fourth) = try await provision(one + ["--person", "Dana Example"])
        #expect(fourth.authorities.map(\.label) == first.authorities.map(\.label))
    }

    @Test("Each --fault generates an identity, and the output shows its person")
    func faults() async throws {
        let run = try await simulation.provider(
            "provision", "--fault", "expired", "--fault", "revoked", "--person", "Dana Example", "--key",
            "p256")
        #expect(run.status == 0)
        let lines = run.text.split(separator: "\n")
        #expect(lines.count { $0.contains("EXAMPLE.DANA.") } == 2)
        let items = try await simulation.items()
        #expect(items.count { $0.kind == "pkcs12" } == 2)
        let wrong = try await simulation.provider(
            "provision", "--fault", "self-signed", "--fault", "nonsense", "--device",
            simulation.scratch.path("none"))
        #expect(wrong.status == 64)
        #expect(!FileManager.default.fileExists(atPath: simulation.scratch.path("none")))
        let file = try await simulation.provider(
            "provision", "--fault", "expired", "--fault", "truncated", "--json")
        #expect(file.status == 64 && file.errors.contains("a keychain cannot contain it"))
        #expect(try await simulation.items().filter { $0.kind == "pkcs12" }.count == 2)
        let both = try await simulation.provider(
            "provision", "--fault", "expired", "--fault", "revoked", "-o", simulation.scratch.path("x"))
        #expect(both.status == 64)
    }

    @Test("--quiet suppresses only the warning about a seed")
    func quiet() async throws {
        let run = try await simulation.provider(one + ["--seed", "1", "-q"])
        #expect(run.status == 0 && run.errors.isEmpty)
        let loud = try await simulation.provider(one + ["--seed", "1"])
        #expect(loud.errors.contains("INSECURE"))
    }

    @Test("An existing file is replaced only with --force")
    func force() async throws {
        _ = try await provision(one)
        let folder = simulation.scratch.path("vectors")
        let file = try simulation.write("mine", as: "mine.p12")
        let commands = [
            ["export", "PIV.zip", "-o", file], ["trust", "-o", file], ["trust", "--crl", "-o", file],
            ["provision", "--fault", "expired", "--key", "p256", "-o", file],
        ]
        for command in commands {
            let refused = try await simulation.provider(command)
            #expect(refused.status == 10 && refused.errors.contains("--force"), "\(command)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
        }
        for command in commands {
            #expect(try await simulation.provider(command + ["--force"]).status == 0, "\(command)")
        }
        #expect(try await simulation.provider("export", "PIV.zip", "-o", "/dev/null").status == 0)
        #expect(try await simulation.provider("export", "PIV.zip", "--force").status == 64)
        #expect(try await simulation.provider("faults", "--force").status == 64)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        _ = try simulation.write("mine", as: "vectors/expired.p12")
        let vectors = ["faults", "--write", folder, "--seed", "1", "--at", "2026-01-01"]
        #expect(try await simulation.provider(vectors).status == 10)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["expired.p12"])
    }
}
