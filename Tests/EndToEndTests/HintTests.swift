import CommandSupport
import Foundation
import KeyShareConsumerCommand
import KeyShareProviderCommand
import TestSupport
import TestVectors
import Testing

/// Hints must fit the failure, and messages must not contain empty tables.
@Suite("Hints that match the failure", .timeLimit(.minutes(10)))
struct HintTests {
    private let simulation: Simulation

    init() throws {
        simulation = try Simulation()
    }

    private func provision() async throws {
        try await simulation.provider("provision", "--key", "p256", "--generations", "1", "--seed", "1")
    }

    /// Writes a zip of the provider's encryption identities, under the password `secret`.
    private func exported() async throws -> (file: String, password: String) {
        let (file, password) = (
            simulation.scratch.path("e.zip"), try simulation.write("secret", as: "secret")
        )
        let run = try await simulation.provider(
            "export", "Encryption.zip", "-o", file, "--password-file", password)
        #expect(run.status == 0)
        return (file, password)
    }

    @Test("Empty folders and zips that were not requested come last, without a hint to request them")
    func emptySelections() async throws {
        try await provision()
        try await simulation.serve()
        let lines = try await simulation.consumer("explain").text.split(separator: "\n").map(String.init)
        let empty = try #require(lines.firstIndex { $0.contains("contains no identity") })
        #expect(lines[0].contains("enabled, requested"))
        #expect(lines[empty...].allSatisfy { !$0.contains("add --uti purebred2025.select.device") })
        let asked = try await simulation.consumer("explain", "--uti", "purebred2025.zip.device")
        #expect(asked.text.hasPrefix("Device.zip: enabled, contains no identity\n"))
    }

    @Test("The hint for importing a folder names its files, or the type that enables them")
    func folders() async throws {
        try await provision()
        try await simulation.serve()
        let closed = try await simulation.consumer(
            "import", "Encryption/", "--uti", "purebred2025.select.encryption")
        #expect(closed.status == 9)
        #expect(
            closed.errors.contains(
                "hint: its files are disabled: request them with --uti purebred2025.select.encryption-p12"))
        let open = try await simulation.consumer(
            "import", "Encryption/", "--preset", "newest-signature-and-all-encryption")
        #expect(
            open.errors.contains("import one of its files; to list them: keyshare-consumer browse Encryption")
        )
        let exported = try await simulation.provider("export", "PIV/")
        #expect(exported.errors.contains("name one of its files, or \u{201C}PIV.zip\u{201D}"))
    }

    @Test(
        "A misspelled type produces a suggestion from the same mechanism",
        arguments: [
            ("purebred2025.zip.signatur", "purebred2025.zip.signature"),
            ("purebred2025.zip.sigature", "purebred2025.zip.signature"),
            ("purebred.zip.sigature", "purebred.zip.signature"),
        ])
    func types(typed: String, meant: String) async throws {
        let run = try await simulation.consumer("browse", "--uti", typed)
        #expect(run.status == 64 && run.errors.contains("did you mean \u{201C}\(meant)\u{201D}?"))
    }

    @Test("A failed import prints the failure with a hint that applies, and no table")
    func failedImports() async throws {
        try await provision()
        let (file, _) = try await exported()
        let wrong = try simulation.write("other", as: "wrong")
        let bytes = try simulation.scratch.read("e.zip")
        let cut = try simulation.scratch.write(Array(bytes.prefix(bytes.count / 2)), as: "cut.zip")
        for (path, status, hint) in [
            (file, 3, "hint: use the password that the file was encrypted with"),
            (cut, 5, "hint: get the file from its source again"),
            (simulation.scratch.path("missing.p12"), 74, "hint: check the path"),
            (simulation.scratch.path, 74, "hint: name a file, not a folder"),
        ] as [(String, Int32, String)] {
            let run = try await simulation.consumer("import", "--file", path, "--password-file", wrong)
            #expect(run.status == status, "\(path): \(run.errors)")
            #expect(run.text.isEmpty)
            #expect(run.errors.contains(hint) && !run.errors.contains("--password-file"), "\(run.errors)")
            let lines = run.errors.split(separator: "\n")
            #expect(lines.count == 2, "\(run.errors)")
        }
        let without = try await simulation.consumer("import", "--file", file)
        #expect(without.status == 3 && without.errors.contains("hint: pass it with --password-file"))
    }

    @Test("An import that partly fails prints the imported identities and the failures")
    func partlyFailed() async throws {
        let file = simulation.scratch.path("broken.zip")
        let secret = try simulation.write("secret", as: "secret")
        try await simulation.provider(
            "provision", "--fault", "zip-broken-entry", "-o", file, "--password-file", secret)
        let run = try await simulation.consumer("import", "--file", file, "--password-file", secret)
        #expect(run.status == 5)
        #expect(run.text.contains("imported") && run.text.contains("failed"))
    }

    @Test("revoke accepts every name that a list prints")
    func revokedNames() async throws {
        try await provision()
        let item = try #require(try await simulation.items("Signature").first)
        let serial = try #require(item.identity).serial
        for name in [
            "signature_\(serial.prefix(10))\u{2026}", "signature_\(serial.prefix(10))\u{2026}.p12",
            "Signature/signature_\(serial.prefix(10))\u{2026}",
            "Signature/" + item.filename, "\(serial.prefix(12))\u{2026}", item.identifier,
        ] {
            let run = try await simulation.provider("revoke", name)
            #expect(run.status == 0, "\(name): \(run.errors)")
        }
    }

    @Test("backup accepts -o, and exactly one file")
    func backup() async throws {
        try await provision()
        let file = simulation.scratch.path("backup")
        #expect(try await simulation.provider("backup", "-o", file).status == 0)
        #expect(try await simulation.provider("restore", file, "--force").status == 0)
        #expect(try await simulation.provider("backup", "-o", file, "other").status == 64)
        #expect(try await simulation.provider("backup").status == 64)
        #expect(try await simulation.provider("backup", "-o", "-").status == 64)
    }

    @Test("provision on a full disk reports the identities that it stored")
    func fullDisk() async throws {
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        let environment = ["KEYSHARE_DEVICE": simulation.device]
        await #expect(processExitsWith: .success) { [environment = environment as [String: String]] in
            await FullDisk.whileFull(limit: 4_000_000) {
                let run = try? await RunningCommand(
                    .provider,
                    [
                        "provision", "--count", "3000", "--generations", "1", "--key", "p256", "--types",
                        "signature",
                    ],
                    environment: environment
                ).finish()
                #expect(run?.status == 74, "\(run?.errors ?? "")")
                let lines = (run?.errors ?? "").split(separator: "\n")
                #expect(lines.contains { $0.hasSuffix("identities were stored before the failure") })
                #expect(
                    lines.contains { $0.hasPrefix("to continue: keyshare-provider provision --count 3000") })
            }
        }
    }

    @Test("faults lists the status and the advice for each fault")
    func faults() async throws {
        let run = try await simulation.provider("faults", "--json")
        let document = try run.document(FaultsDocument<TestVector.Expectation>.self)
        let advice = document.faults.reduce(into: [:]) { $0[$1.name] = $1.app }
        #expect(advice.count == TestVector.defective.count)
        #expect(advice["expired"]?.status == "errSecCertificateExpired")
        #expect(advice["other-password"]?.code == -25293)
        #expect(advice["other-password"]?.retry == .withNewPassword)
        #expect(advice["garbage"]?.status == "errSecDecode" && advice["no-identity"]?.code == -25300)
        #expect(advice["emoji-name"]?.code == 0)
        #expect(advice.values.allSatisfy { $0.advice.hasSuffix(".") })
        let text = try await simulation.provider("faults").text
        #expect(text.contains("OSSTATUS") && text.contains("-67818"))
    }

    @Test("mail writes a checklist of all messages that names the keys and escapes names")
    func checklist() async throws {
        try await provision()
        let folder = simulation.scratch.path("mail")
        let run = try await simulation.provider("mail", "-o", folder)
        #expect(run.errors.contains("print \(folder)/checklist.html"))
        let page = String(decoding: try simulation.scratch.read("mail/checklist.html"), as: UTF8.self)
        let mails = try simulation.scratch.names(folder).filter { $0.hasSuffix(".eml") }
        #expect(page.components(separatedBy: "<tr><td").count == mails.count + 1)
        #expect(mails.allSatisfy { page.contains("<td>\($0)</td>") })
        #expect(!page.contains("<script") && !page.contains("http"))
        #expect(try await simulation.provider("mail", "-o", folder, "--force").status == 0)
    }
}
