import CommandSupport
import Foundation
import KeyShareConsumerCommand
import KeyShareProviderCommand
import TestSupport
import Testing

@Suite("Names of persons and identities in output and arguments", .timeLimit(.minutes(10)))
struct PersonTests {
    /// Creates a device with the newest generation of two persons.
    private func twoPersons() async throws -> Simulation {
        let simulation = try Simulation()
        for (seed, person) in ["Dana Example", "Robin Sutter"].enumerated() {
            #expect(
                try await simulation.provider(
                    "provision", "--person", person, "--generations", "1", "--key", "p256", "--seed",
                    "\(seed)"
                ).status == 0)
        }
        return simulation
    }

    @Test("Every list of identities shows the person, e-mail address, EDIPI and expiry, in text and in JSON")
    func lists() async throws {
        let simulation = try Simulation()
        let made = try await simulation.provider(
            "provision", "--person", "EXAMPLE.DANA.1234567890", "--email", "dana@mail.example",
            "--generations",
            "1", "--key", "p256", "--at", "2026-03-02T12:00:00Z")
        #expect(made.text.contains("EXAMPLE.DANA.1234567890") && made.text.contains("2029-03-01"))
        #expect(made.errors.contains("created 3 identities of EXAMPLE.DANA.1234567890"))
        try await simulation.serve()
        let listed = try await simulation.items("Encryption")
        let identity = try #require(listed.first?.identity)
        #expect(identity.person == "EXAMPLE.DANA.1234567890" && identity.email == "dana@mail.example")
        #expect(identity.edipi == "1234567890" && identity.type == "encryption")
        #expect(identity.subject?.hasPrefix("CN=EXAMPLE.DANA.1234567890,") == true)
        #expect(listed.first?.filename.contains(identity.serial) == true)
        #expect(identity.notAfter?.utcText == "2029-03-01T12:00:00Z")

        let browsed = try await simulation.consumer("browse", "encryption/", "--json")
        #expect(try browsed.document(ItemListingDocument.self).items.map(\.identity) == [identity])
        let root = try await simulation.consumer("browse", "--json").document(ItemListingDocument.self)
        #expect(root.items.first { $0.kind == "folder" }.map { $0.identity == nil } == true)
        let explained = try await simulation.consumer("explain", "--json").document(ExplanationDocument.self)
        #expect(explained.items.first { $0.identifier == identity.label }?.identity == identity)
        let details = try await simulation.consumer("browse", "--details", identity.label, "--json")
        #expect(try details.document(ItemDetailsDocument.self).item.identity == identity)

        let imported = try await simulation.consumer("import", identity.label, "--json")
        #expect(try imported.results().map(\.identity) == [identity])
        #expect(try await simulation.held() == [identity])
        for command in [
            ["list"], ["browse"], ["browse", "--mechanism", "legacy"], ["explain", "--all"],
            ["import", identity.label],
        ] {
            let text = try await simulation.consumer(command).text
            #expect(text.contains("EXAMPLE.DANA.1234567890"), "\(command)")
        }
        #expect(try await simulation.provider("list").text.contains("EXAMPLE.DANA.1234567890"))
    }

    @Test("--person limits lists, exports and authorities to persons with a name that contains the text")
    func filter() async throws {
        let simulation = try await twoPersons()
        let listed = try await simulation.provider("list", "--person", "dana", "--json")
            .document(ItemListingDocument.self).items
        #expect(listed.count == 3)
        #expect(listed.allSatisfy { $0.identity?.person?.hasPrefix("EXAMPLE.DANA.") == true })
        let edipi = try #require(listed.first?.identity?.edipi)
        let piv = try await simulation.provider("list", "piv", "--person", edipi, "--json")
        #expect(try piv.document(ItemListingDocument.self).items.count == 1)

        let zip = simulation.scratch.path("all.zip")
        let secret = try simulation.write("secret", as: "secret.txt")
        try await simulation.provider(
            "export", "unfiltered.zip", "--person", "sutter", "--password-file", secret, "-o", zip)
        try await simulation.consumer("import", "--file", zip, "--password-file", secret)
        #expect(try await simulation.held().allSatisfy { $0.person?.hasPrefix("SUTTER.ROBIN.") == true })
        #expect(
            try await simulation.consumer("list", "--person", "sutter").text.split(separator: "\n").count == 4
        )

        let authorities = try await simulation.provider("trust", "--person", "dana", "--json")
        #expect(try authorities.document(AuthoritiesDocument.self).certificates.count >= 2)
        for arguments in [["list"], ["export", "PIV.zip"], ["trust"]] {
            let run = try await simulation.provider(arguments + ["--person", "nobody"])
            #expect(run.status == 9 && run.errors.contains("nobody"), "\(arguments)")
        }
        #expect(try await simulation.consumer("list", "--person", "dana").status == 9)
        #expect(try await simulation.consumer("list", "--person", "").status == 64)
    }

    @Test("--person finds every spelling that provision accepts, in any letter case and word order")
    func spellings() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--person", "RIVERA.JORDAN.LEE.1234567890", "--generations", "1", "--types",
            "signature", "--key", "p256")
        let (secret, folder) = (try simulation.write("secret", as: "s"), simulation.scratch.path("keys"))
        for name in [
            "Jordan Rivera", "rivera jordan", "Jordan Lee Rivera", "Rivera, Jordan Lee", "RIVERA, JORDAN L.",
            "1234567890", "RIVERA.JORDAN.LEE.1234567890", "rivera.jordan", "jordan", "lee 1234567890",
        ] {
            #expect(try await simulation.provider("list", "--person", name).status == 0, "\(name)")
        }
        for arguments in [
            ["trust"], ["mail", "-o", simulation.scratch.path("mail")],
            ["export", "--all", "-o", folder, "--password-file", secret],
        ] {
            let run = try await simulation.provider(arguments + ["--person", "Jordan Rivera"])
            #expect(run.status == 0, "\(arguments): \(run.errors)")
        }
        for name in ["Jordan Riviera", "jordan example", ".", "ordan rivera"] {
            let run = try await simulation.provider("list", "--person", name, "--json")
            #expect(run.status == (name == "." ? 0 : 9), "\(name)")
        }
    }

    @Test("If no person matches, the error lists at most ten persons and the number of the others")
    func people() async throws {
        let simulation = try Simulation()
        let nobody = try await simulation.provider("list", "--person", "Jordan")
        #expect(nobody.status == 9)
        try await simulation.provider(
            "provision", "--count", "12", "--generations", "1", "--types", "signature", "--key", "p256",
            "--seed", "1")
        let names = Set(try await simulation.items().compactMap(\.identity?.person)).sorted()
        let run = try await simulation.provider("list", "--person", "No Such Person")
        #expect(run.status == 9)
        #expect(
            run.errors.contains("; the people are \(names.prefix(10).joined(separator: ", ")) and 2 more\n"))
    }

    @Test("Commands accept every name that a list prints")
    func names() async throws {
        let simulation = try await twoPersons()
        try await simulation.serve()
        let item = try #require(try await simulation.items("Encryption").first)
        let identity = try #require(item.identity)
        let start = identity.label.prefix(16)
        for name in [
            "Encryption/\(item.filename)", "encryption/\(start)", "\(start)\u{2026}",
            String(start).lowercased(),
            identity.serial, String(identity.serial.prefix(12)), item.identifier, "Encryption.\(start)",
        ] {
            let run = try await simulation.provider(
                "export", name, "--force", "-o", simulation.scratch.path("file.p12"))
            #expect(run.status == 0, "\(name)")
            let explained = try await simulation.consumer("explain", name, "--json")
            #expect(explained.status == 0, "\(name)")
            let rows = try explained.document(ExplanationDocument.self).items
            #expect(rows.allSatisfy { $0.identity == identity }, "\(name)")
            let imported = try await simulation.consumer("import", name, "--uti", "public.data", "--json")
            #expect(try imported.results().map(\.identity) == [identity], "\(name)")
        }
        for name in [
            start + "\u{2026}", identity.serial.prefix(12), item.filename[...], item.identifier[...],
        ] {
            let shown = try await simulation.consumer("show", String(name))
            #expect(shown.status == 0 && shown.text.contains(identity.label), "\(name)")
        }
        for name in ["PIV/", "PIV", "piv", "all user"] {
            for run in [
                try await simulation.provider("list", name), try await simulation.consumer("browse", name),
                try await simulation.consumer("explain", name),
            ] { #expect(run.status == 0, "\(name): \(run.errors)") }
        }
        let folder = try await simulation.provider("export", "PIV/")
        #expect(folder.status == 9 && folder.errors.contains("is a folder"))
    }

    @Test("An ambiguous label prefix exits with 9 and lists the candidates")
    func ambiguous() async throws {
        let simulation = try await twoPersons()
        let labels = try await simulation.items().compactMap(\.identity?.label)
        // With these seeds, two of the six labels have the same prefix.
        let digits = try await simulation.items().compactMap(\.identity).flatMap {
            [String($0.label.prefix(1)), String($0.serial.prefix(1))]
        }
        let common = try #require(digits.first { digit in digits.filter { $0 == digit }.count > 1 })
        let run = try await simulation.provider("export", common, "--json")
        #expect(run.status == 9 && labels.contains { run.errors.contains($0.prefix(16)) })
        #expect(try run.errorCode() == "ambiguous-name")
    }
}
