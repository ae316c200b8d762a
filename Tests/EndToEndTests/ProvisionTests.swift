import CommandSupport
import Fixtures
import Foundation
import Glibc
import KeyShareConsumerCommand
import KeyShareProviderCommand
import TestSupport
import TestVectors
import Testing

@Suite("Provisioning, end to end", .timeLimit(.minutes(10)))
struct ProvisionTests {
    private let simulation: Simulation

    init() throws {
        simulation = try Simulation()
    }

    @Test("A killed run that is restarted loses nothing and generates nothing twice")
    func killed() async throws {
        let request = ["provision", "--key", "p256", "--count", "400"]
        let running = try RunningCommand(.provider, request + ["--device", simulation.device])
        // Wait until the first transactions are in the database: SQLite moves complete transactions there from the
        // journal. Check the size of the file, because a command would take so long that the provisioning run could
        // finish.
        let database = simulation.device + "/keychain/keychain.sqlite"
        try await running.wait {
            let attributes = try? FileManager.default.attributesOfItem(atPath: database)
            return attributes?[.size] as? Int ?? 0 > 1_000_000
        }
        running.signal(SIGKILL)
        _ = try await running.finish()

        let interrupted = try await identities().count
        // On a busy machine, the run may be complete before the signal arrives.
        #expect((1...4800).contains(interrupted))
        let rest = try await simulation.provider(request + ["--json"])
        #expect(try rest.document(ProvisioningDocument.self).alreadyThere == interrupted)
        let all = try await identities()
        #expect(all.count == 4800)
        #expect(Set(all).count == 4800)
    }

    @Test("A seed produces the same bytes in one run and in parts on several devices")
    func seeded() async throws {
        let request = [
            "provision", "--seed", "7", "--at", "2026-01-01", "--key", "p256", "--count", "4",
            "--generations", "1", "--types", "encryption,authentication",
        ]
        func device(_ name: String) -> [String] { ["--device", simulation.scratch.path(name)] }
        for name in ["whole", "again"] {
            #expect(try await RunningCommand(.provider, request + device(name)).finish().status == 0)
        }
        // The part 0 is the last one.
        for part in 0...2 {
            let shard = ["--shard", "\(part)/3"] + device("part\(part)")
            #expect(try await RunningCommand(.provider, request + shard).finish().status == 0)
        }
        // Merge the parts in a different order.
        let parts = [2, 0, 1].map { simulation.scratch.path("part\($0)") }
        #expect(
            try await RunningCommand(.provider, ["merge"] + parts + device("merged")).finish().status == 0)

        let whole = try await contents(of: "whole")
        // Two identities of each person, and the authorities. All are different, and none is empty.
        #expect(Set(whole).count == 9)
        #expect(!whole.contains([]))
        #expect(try await contents(of: "again") == whole)
        #expect(try await contents(of: "merged") == whole)
    }

    /// The file contents of every identity on a device, sorted by file name, and those of the authorities.
    private func contents(of name: String) async throws -> [[UInt8]] {
        let device = ["--device", simulation.scratch.path(name)]
        let password = try simulation.write("password", as: "password")
        let list = try await RunningCommand(.provider, ["list", "--json"] + device).finish()
        var files: [String: [UInt8]] = [:]
        for item in try list.document(ItemListingDocument.self).items where item.kind == "pkcs12" {
            let file = item.filename
            let options = ["--seed", "7", "--at", "2026-01-01", "--password-file", password]
            let run = try await RunningCommand(.provider, ["export", file, "-o", "-"] + options + device)
                .finish()
            files[file] = [UInt8](run.output)
        }
        let trust = try await RunningCommand(.provider, ["trust"] + device).finish()
        return files.sorted { $0.key < $1.key }.map(\.value) + [[UInt8](trust.output)]
    }

    private func identities() async throws -> [String] {
        try await simulation.items().filter { $0.kind == "pkcs12" }.map(\.filename)
    }

    @Test("verify finds a revoked identity on the provider's revocation list")
    func revoked() async throws {
        try await simulation.provider("provision", "--fault", "revoked", "--key", "p256")
        let trust = simulation.scratch.path("trust.pem")
        let list = simulation.scratch.path("list.pem")
        try await simulation.provider("trust", "-o", trust)
        try await simulation.provider("trust", "--crl", "-o", list)
        let item = try await simulation.firstIdentifier()
        let file = simulation.scratch.path("revoked.p12")
        let password = try simulation.write("password", as: "password")
        try await simulation.provider("export", item, "-o", file, "--password-file", password)
        #expect(
            try await simulation.consumer("import", "--file", file, "--password-file", password).status == 0)
        #expect(try await simulation.consumer("verify", "--trust", trust).status == 0)
        #expect(try await simulation.consumer("verify", "--trust", trust, "--crl", list).status == 7)
    }

    @Test("Standard output of a run with --fault --json contains exactly one document")
    func faultDocument() async throws {
        let arguments = ["provision", "--fault", "expired", "--key", "p256", "--seed", "1", "--json"]
        let first = try await simulation.provider(arguments).document(ProvisioningDocument.self)
        #expect(first.fault?.name == "expired")
        #expect(first.made == 1 && first.identities.count == 1)
        let file = simulation.scratch.path("fault.p12")
        let written = try await simulation.provider(arguments + ["-o", file])
        #expect(try written.document(ProvisioningDocument.self).made == 0)
        #expect(FileManager.default.fileExists(atPath: file))
        #expect(try await simulation.provider(arguments + ["-o", "-"]).status == 64)
    }

    @Test("With a seed and without a date, the certificates of faults start at the beginning of the year")
    func undatedFaults() async throws {
        let file = simulation.scratch.path("fault.p12")
        let password = try simulation.write("password", as: "password")
        let arguments = ["provision", "--fault", "expired", "--key", "p256", "--seed", "1", "-o", file]
        #expect(try await simulation.provider(arguments + ["--password-file", password]).status == 0)
        let identity = try #require(
            try await simulation.inspect(file, passwordFile: password).identities.first)
        #expect(identity.notBefore.utcText.hasSuffix("-12-31T00:00:00Z"))

        let folder = simulation.scratch.path("faults")
        let written = try await simulation.provider(
            "faults", "--write", folder, "--only", "garbage", "--seed", "1", "--json")
        #expect(try written.document(Fixtures.Manifest.self).date.hasSuffix("-01-01T00:00:00Z"))
    }

    @Test("Merge creates no keychain in a folder that is not a device")
    func mergeOfNoDevice() async throws {
        let folder = simulation.scratch.path("holiday")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        #expect(try await simulation.provider("merge", folder).status == 9)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    @Test("Inspect reads the Windows account that provision wrote")
    func account() async throws {
        try await simulation.provider(
            "provision", "--sid", "S-1-5-21-1-2-3-1001", "--key", "p256", "--generations", "1", "--types",
            "authentication")
        let item = try await simulation.firstIdentifier()
        let file = simulation.scratch.path("piv.p12")
        let password = try simulation.write("password", as: "password")
        try await simulation.provider("export", item, "-o", file, "--password-file", password)
        let identity = try #require(
            try await simulation.inspect(file, passwordFile: password).identities.first)
        #expect(identity.securityIdentifier == "S-1-5-21-1-2-3-1001")
        #expect(identity.findings.isEmpty)
    }

    @Test(
        "An invalid request returns exit code 64 and a message",
        arguments: [
            ["--profile", "nothing"], ["--profile", "derived-piv", "--types", "device"], ["--shard", "1/2"],
            ["--seed", "1", "--shard", "3/2"], ["--fault", "nothing"], ["--fault", "zip-slip"],
            ["--person", "Single"], ["--edipi", "12"], ["--sid", "S-1"], ["--pki", "ftp://example.com"],
            ["-o", "file"], ["--renew", "--email", "x@y.example"], ["--renew", "--count", "7"],
            ["--renew", "--dates", "2019-01-01"], ["--renew", "--recovered", "2"],
            ["--renew", "--category", "9"], ["--generations", "3", "--dates", "2019-01-01"],
            ["--fault", "expired", "--profile", "dod-2018"], ["--fault", "expired", "--types", "device"],
            ["--fault", "expired", "--count", "5"], ["--fault", "expired", "--recovered", "2"],
            ["--person", "DOE.JOHN.Q.1234567890", "--edipi", "1234567891"],
            ["--generations", "100", "--at", "2026-01-01"],
        ])
    func usage(arguments: [String]) async throws {
        try await simulation.device("unlock")
        let run = try await RunningCommand(
            .provider, ["provision", "--device", simulation.device] + arguments
        ).finish()
        #expect(run.status == 64)
        #expect(run.errors.hasPrefix("keyshare-provider: "))
    }
}
