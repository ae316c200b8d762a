import CommandSupport
import Fixtures
import Foundation
import KeyShareConsumerCommand
import TestSupport
import TestVectors
import Testing

@Suite("Verdicts on files", .timeLimit(.minutes(10)))
struct FileVerdictTests {
    private let manifest = Fixtures.manifest

    @Test(
        "Verify rejects a key that belongs to another certificate, even if the file also contains a valid identity"
    )
    func mismatch() async throws {
        let simulation = try Simulation()
        for (name, outcomes) in [
            ("mismatch-beside-identity.p12", ["pass", "fail"]), ("key-of-another-certificate.p12", ["fail"]),
        ] {
            let run = try await simulation.consumer(
                try verify(simulation) + ["--file", Fixtures.url(of: name).path])
            #expect(run.status == 7)
            #expect(try keyMatches(run) == outcomes)
        }
    }

    @Test("Verify continues with all files and labels, and reports those that it cannot check")
    func several() async throws {
        let simulation = try Simulation()
        let good = Fixtures.url(of: "signature-modern.p12").path
        let junk = Fixtures.url(of: "garbage.p12").path
        for files in [[good, junk], [junk, good]] {
            let run = try await simulation.consumer(
                try verify(simulation) + files.flatMap { ["--file", $0] })
            #expect(run.status == 5)
            #expect(try keyMatches(run) == ["pass"])
            #expect(try run.document(VerificationDocument.self).failures?.map(\.item) == [junk])
            #expect(run.errors.contains(junk))
        }
        let imported = try await simulation.consumer(
            "import", "--file", good, "--password-file", try password(simulation), "--json")
        let label = try #require(try imported.results().first?.identity?.label)
        let held = try await simulation.consumer(try verify(simulation, ["ZZZZ", label]))
        #expect(held.status == 9)
        #expect(try keyMatches(held) == ["pass"])
    }

    @Test(
        "Verify does not skip a file in a folder that is damaged or cannot be read",
        arguments: [
            (
                #"cp user.pem "folder/$(printf '\351vil.pem')""#, Int32(74),
                "\u{FFFD}vil.pem: the name is not UTF-8"
            ),
            ("mkfifo folder/pipe.pem", 74, "pipe.pem: not a regular file"),
            ("ln -s missing folder/link.pem", 74, "link.pem: cannot be read"),
            ("(cat user.pem; sed 's/^MI/!!/' user.pem) > folder/damaged.pem", 5, "damaged.pem"),
            ("(echo text; sed 's/^MI/!!/' user.pem) > folder/damaged.pem", 5, "damaged.pem"),
            ("cp user.pem folder/user.pem", 7, "failed a check"),
        ])
    func folderEntries(command: String, status: Int32, words: String) async throws {
        let simulation = try Simulation()
        let folder = simulation.scratch.path("folder")
        try simulation.scratch.shell(
            """
            mkdir folder; cp \(Fixtures.url(of: manifest.trust).path) folder/good.pem
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout folder/key.pem -out user.pem \
              -subj /CN=user
            echo nothing > folder/README
            """)
        let good = try await simulation.consumer(try verify(simulation) + ["--file", folder])
        #expect(good.status == 0, "\(good.errors)")
        let skipped = try good.document(VerificationDocument.self).skipped
        #expect(skipped?.map(\.file) == [folder + "/README", folder + "/key.pem"])
        try simulation.scratch.shell(command)
        let run = try await simulation.consumer(try verify(simulation) + ["--file", folder])
        #expect(run.status == status, "\(run.errors)")
        #expect(run.errors.contains(words), "\(run.errors)")
    }

    @Test("Verify reads neither files above the size limit nor folders with too many files")
    func limits() async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        let trust = simulation.scratch.path("root.pem")
        #expect(try await simulation.provider("trust", "-o", trust).status == 0)
        let large = try simulation.scratch.write([UInt8](repeating: 0x41, count: 2_000_000), as: "large.p12")
        let one = try await simulation.consumer("verify", "--trust", trust, "--file", large)
        #expect(one.status == 10 && one.errors.contains("larger than the limit of 1048576 bytes"))
        let folder = simulation.scratch.path("many")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        for number in 0...20_000 {
            try #require(FileManager.default.createFile(atPath: "\(folder)/\(number)", contents: nil))
        }
        let all = try await simulation.consumer("verify", "--trust", trust, "--file", folder)
        #expect(all.status == 10 && all.errors.contains("more than 20000 files"), "\(all.errors)")
    }

    @Test("Verify reports a revocation list file that it cannot parse")
    func revocationList() async throws {
        let simulation = try Simulation()
        let junk = Fixtures.url(of: "garbage.p12").path
        let run = try await simulation.consumer(
            "verify", "--trust", Fixtures.url(of: manifest.trust).path, "--crl", junk)
        #expect(run.status == 5)
        #expect(run.errors.contains(junk))
    }

    @Test("Inspect shows the names and kinds of contents that are not identities")
    func lonely() async throws {
        let simulation = try Simulation()
        let certificate = try await inspect("certificate-only.p12", simulation)
        let alone = certificate.certificatesWithoutKey
        #expect(alone.map(\.friendlyName) == ["Test"])
        #expect(alone.map(\.trusted) == [false])
        for (file, kind) in [
            ("key-only.p12", InspectedBag.Kind.key), ("damaged-key.p12", .unreadableKey),
            ("oversized-key.p12", .unusableKey),
        ] {
            let bags = try await inspect(file, simulation).bags
            #expect(bags.map(\.kind) == [kind])
            #expect(bags.map(\.friendlyName) == ["Test"])
        }
        #expect(try await inspect("signature-p256.p12", simulation).identities.map(\.curve) == ["P-256"])
    }

    @Test("Export rejects a password option if the profile uses a fixed password")
    func emptyPassword() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        let item = try await simulation.firstIdentifier()
        let path = simulation.scratch.path("out.p12")
        let export = ["export", item, "-o", path, "--profile", "empty-password"]
        let run = try await simulation.provider(
            export + ["--password-file", try password(simulation)])
        #expect(run.status == 64)
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try await simulation.provider(export).status == 0)
    }

    private func verify(_ simulation: Simulation, _ labels: [String] = []) throws -> [String] {
        ["verify"] + labels
            + [
                "--trust", Fixtures.url(of: manifest.trust).path, "--at", manifest.date, "--json",
                "--password-file", try password(simulation),
            ]
    }

    private func password(_ simulation: Simulation) throws -> String {
        try simulation.write(Fixtures.entry("garbage.p12")?.password ?? "", as: "password")
    }

    private func keyMatches(_ run: CommandRun) throws -> [String?] {
        try run.document(VerificationDocument.self).results.map { result in
            result.checks.first { $0.check == "key match" }?.outcome
        }
    }

    private func inspect(_ file: String, _ simulation: Simulation) async throws -> InspectionDocument {
        try await simulation.inspect(Fixtures.url(of: file).path, passwordFile: try password(simulation))
    }
}
