import CommandSupport
import Fixtures
import Foundation
import KeyShareConsumerCommand
import TestSupport
import Testing

@Suite("The legacy mechanism, end to end", .timeLimit(.minutes(10)))
struct LegacyTests {
    private let simulation: Simulation

    init() throws {
        simulation = try Simulation()
    }

    private func rows(_ types: String...) async throws -> [ItemListingDocument.Row] {
        let arguments = ["browse", "--mechanism", "legacy", "--json"] + types.flatMap { ["--uti", $0] }
        let run = try await simulation.consumer(arguments)
        #expect(run.status == 0, "\(run.errors)")
        return try run.document(ItemListingDocument.self).items
    }

    private func explain(_ arguments: String...) async throws -> [ExplanationDocument.Row] {
        try await simulation.consumer(["explain", "--json"] + arguments).document(ExplanationDocument.self)
            .items
    }

    @Test(
        "A legacy provider lists the public sample identities according to the legacy rules",
        .enabled(if: Corpora.isAvailable, "\(Corpora.skipped)"))
    func samples() async throws {
        let password = try simulation.write("password", as: "password")
        // Files of the legacy sample are named by label. The other three samples come from another provider.
        let samples = Corpora.files(in: "purebred-samples").filter { $0.path.count > 40 }
        #expect(samples.count == 8)
        let files = samples.map { Corpora.folder + "/" + $0.path }
        for file in files {
            #expect(try await simulation.provider("import", file, "--password-file", password).status == 0)
        }
        try await simulation.serve()
        #expect(try await rows("com.rsa.pkcs-12").count == 5)
        #expect(try await rows("purebred.select.signature").count == 1)
        #expect(try await rows("purebred.select.signature", "purebred.select.no-filter").count == 4)
        #expect(try await rows("purebred.zip.all-user", "purebred.zip.no-filter").count == 1)
        let imported = try await simulation.consumer(
            "import", "tmp.zip", "--mechanism", "legacy", "--uti", "purebred.zip.all-user", "--uti",
            "purebred.zip.no-filter", "--allow-paste", "--json")
        #expect(imported.status == 0)
        #expect(try imported.statuses() == Array(repeating: .imported, count: 8))
        #expect(try imported.results().map(\.entry) == (0..<8).map { "\($0).p12" })
    }

    @Test("A legacy import requires the user to allow the paste; a denial or no answer imports nothing")
    func consent() async throws {
        try await simulation.provider("provision", "--key", "p256", "--generations", "2")
        try await simulation.serve()
        let row = try #require(try await rows("purebred.select.signature").first).filename
        let command = [
            "import", row, "--mechanism", "legacy", "--uti", "purebred.select.signature", "--json",
        ]
        let denied = try await simulation.consumer(command + ["--deny-paste"])
        #expect(denied.status == 10)
        #expect(try denied.errorCode() == "paste-denied")
        #expect(denied.errors.contains("hint: to allow it without a prompt: --allow-paste"))
        let unanswered = try await simulation.consumer(command)
        #expect(unanswered.status == 10)
        #expect(unanswered.errors.contains("hint: add --allow-paste or --deny-paste"))
        #expect(try await simulation.held().isEmpty)
        #expect(try await simulation.consumer(command + ["--allow-paste"]).status == 0)
        #expect(try await simulation.consumer(command + ["--allow-paste"]).statuses() == [.duplicate])
    }

    @Test("An expired pasteboard password is reported as expired, and a mistyped one as wrong")
    func expired() async throws {
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        try await simulation.serve("--pasteboard-expiry", "0")
        let command = [
            "import", "tmp.zip", "--mechanism", "legacy", "--uti", "purebred.zip.all", "--allow-paste",
            "--json",
        ]
        let expired = try await simulation.consumer(command)
        #expect(expired.status == 3)
        #expect(try expired.errorCode() == "pasteboard-expired")
        #expect(expired.errors.contains("hint: import the item again"))
        let mistyped = try await simulation.consumer(command + ["--password-stdin"], input: "mistyped")
        #expect(mistyped.status == 3)
        #expect(try mistyped.errorCode() == "wrong-password")
    }

    @Test("A provider serves both mechanisms at the same time, and never uses the pasteboard for 2025")
    func bothMechanisms() async throws {
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        try await simulation.serve()
        #expect(try await simulation.consumer("import", "All.zip", "--uti", "public.zip-archive").status == 0)
        let pasteboard = simulation.device + "/pasteboard/item"
        #expect(!FileManager.default.fileExists(atPath: pasteboard))
        let legacy = try await simulation.consumer(
            "import", "tmp.zip", "--mechanism", "legacy", "--uti", "purebred.zip.all", "--allow-paste",
            "--json")
        #expect(try legacy.statuses() == Array(repeating: .duplicate, count: 3))
        #expect(FileManager.default.fileExists(atPath: pasteboard))
    }

    @Test(
        "A request of one mechanism rejects types of the other",
        arguments: [
            ["browse", "--mechanism", "legacy", "--uti", "purebred2025.select.all"],
            [
                "browse", "--mechanism", "legacy", "--uti", "purebred2025.select.all", "--uti",
                "purebred.select.all",
            ],
            ["browse", "--mechanism", "legacy", "Encryption"],
            ["import", "x", "--mechanism", "legacy", "--uti", "purebred.select.all_user"],
            ["browse", "--mechanism", "2016"],
        ])
    func mixing(arguments: [String]) async throws {
        try await simulation.serve()
        let run = try await simulation.consumer(arguments + ["--json"])
        #expect(run.status == 64)
        #expect(run.errors.contains("hint: "))
    }

    @Test(
        "Explain supports both mechanisms, and prints the row of an invalid type before it exits with 64"
    )
    func explain() async throws {
        try await simulation.provider("provision", "--key", "p256", "--generations", "2")
        try await simulation.serve()
        let run = try await simulation.consumer("explain", "--uti", "purebred2025.select.signature", "--json")
        #expect(run.status == 0)
        #expect(
            Set(try run.document(ExplanationDocument.self).items.map(\.reason)) == [
                "not-requested", "companion-missing", "folder-contents-disabled", "empty-selection",
                "older-generation",
            ])
        let bad = try await simulation.consumer("explain", "--uti", "purebred2025.zip.all_user", "--json")
        #expect(bad.status == 64)
        let first = try #require(try bad.document(ExplanationDocument.self).items.first)
        #expect(first.reason == "deprecated-spelling")
        #expect(first.missing == ["purebred2025.zip.all-user"])
        #expect(try await explain("PIV.zip", "--uti", "public.zip-archive").count == 1)
        #expect(try await explain("--mechanism", "legacy", "--uti", "purebred.select.signature").count == 6)
        #expect(try await simulation.consumer("explain", "nothing.p12").status == 9)
    }

    @Test("Both commands classify certificates and PKCS #12 files")
    func classify() async throws {
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "encryption")
        let password = try simulation.write("p", as: "password")
        let file = simulation.scratch.path("a.p12")
        let name = try await simulation.firstIdentifier()
        try await simulation.provider("export", name, "-o", file, "--password-file", password)
        let run = try await simulation.consumer("classify", file, "--password-file", password, "--json")
        let row = try #require(try run.document(ClassificationDocument.self).certificates.first)
        #expect(row.type == "encryption" && row.legacyType == "encryption")
        #expect(row.warnings.map(\.code) == ["elliptic-key-agreement"])
        let trust = simulation.scratch.path("trust.pem")
        try await simulation.provider("trust", "-o", trust)
        let authorities = try await simulation.provider("classify", trust, "--json")
        #expect(try authorities.document(ClassificationDocument.self).certificates.count == 4)
        #expect(
            try await simulation.consumer("classify", try simulation.write("garbage", as: "garbage")).status
                == 5)
    }

    @Test(
        "classify explains in one sentence why alias sharing does not publish a PIV certificate as PIV Authentication"
    )
    func classifyAliases() async throws {
        let password = try simulation.write("p", as: "password")
        for (profile, type, rule, names) in [
            ("derived-piv", "Identity", "short-other-name", ["otherName of 32 bytes", "other kind"]),
            (
                "dod-2024", "PIV Authentication", "long-other-name",
                ["otherName of 38 bytes", "otherName of 41 bytes", "other kind"]
            ),
        ] {
            try await simulation.provider("clear", "--yes")
            try await simulation.provider(
                "provision", "--generations", "1", "--types", "authentication", "--profile", profile, "--key",
                "p256")
            let file = simulation.scratch.path("\(profile).p12")
            let name = try await simulation.firstIdentifier()
            try await simulation.provider("export", name, "-o", file, "--password-file", password)
            let run = try await simulation.provider("classify", file, "--password-file", password, "--json")
            let row = try #require(try run.document(ClassificationDocument.self).certificates.first)
            #expect(row.type == "authentication")
            #expect(row.aliasType == type && row.aliasRule == rule)
            #expect(row.nameOrder == names)
            let warnings = type == "Identity" ? ["identity-instead-of-piv"] : []
            #expect(row.aliasWarnings.map(\.code) == warnings)
            #expect(row.warnings.map(\.code) == [])
            let text = try await simulation.provider("classify", file, "--password-file", password).text
            #expect(text.contains("\(type): \(row.aliasBecause)"))
            #expect(
                text.contains("do not find it: its first otherName has at most 32 bytes")
                    == (type == "Identity"))
        }
    }

    @Test("An unreadable certificate is reported as a certificate, not as a PKCS #12 file")
    func classifyMalformedSerial() async throws {
        var der = try Fixtures.bytes(of: "bare-certificate.p12")
        // The serial number is the INTEGER after the version, which is tagged [0]. An empty serial number is malformed.
        let version = try #require(der.firstRange(of: [0xA0, 3, 2, 1, 2, 2]))
        let length = Int(der[version.upperBound])
        // If the length is zero, the parser reads the octets of the number as separate elements.
        der[version.upperBound] = 0
        #expect(length > 0)
        let file = simulation.scratch.path("malformed.cer")
        try Data(der).write(to: URL(fileURLWithPath: file))
        let run = try await simulation.consumer("classify", file)
        #expect(run.status == 5)
        #expect(run.errors.contains("certificate") && !run.errors.contains("PFX"))
    }
}
