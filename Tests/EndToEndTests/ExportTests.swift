import CommandSupport
import Foundation
import KeyShareClient
import KeyShareProviderCommand
import KeySharing
import OpenSSL
import SecretMemory
import TestSupport
import TestVectors
import Testing
import ZipBundles

@Suite("Exporting many files, end to end", .timeLimit(.minutes(10)))
struct ExportTests {
    private let simulation: Simulation
    private let password: [String]
    private static let secret = "an export's password"

    init() throws {
        simulation = try Simulation()
        password = ["--password-file", try simulation.write(Self.secret, as: "password")]
    }

    private var folder: String { simulation.scratch.path("out") }

    private func provision(_ arguments: String...) async throws {
        let run = try await simulation.provider(["provision", "--key", "p256"] + arguments)
        #expect(run.status == 0)
    }

    private func index(_ folder: String = "out") throws -> ExportIndexDocument {
        try DocumentCoding.decode(
            ExportIndexDocument.self, from: Data(try simulation.scratch.read("\(folder)/index.json")))
    }

    /// Opens a file with the password of the tests, or with a different one.
    private func open(_ file: String, _ secret: String = Self.secret) throws -> [PKCS12Identity] {
        try PKCS12.read(
            try simulation.scratch.read(file), password: .text(SecretBytes(utf8: secret))
        ).requireIdentities()
    }

    @Test("Every identity is exported to a file that opens, with an index row that names its person")
    func all() async throws {
        try await provision(
            "--persons", try simulation.write("name\nDana Example\nAlex Other\n", as: "p.csv"))
        let run = try await simulation.provider(["export", "--all", "-o", folder, "--json"] + password)
        #expect(run.status == 0)
        let document = try run.document(ExportIndexDocument.self)
        #expect(document.folder == folder)
        let files = try index().files
        #expect(files.count == 24 && document.files.map(\.file) == files.map(\.file))
        #expect(
            Set(try simulation.scratch.names(folder)) == Set(files.map(\.file) + ["index.json"]))
        for file in files {
            let identity = try #require(file.identity)
            #expect(try open("out/\(file.file)").map(\.label) == [identity.label])
            #expect(file.profile == "modern" && identity.edipi != nil)
            // Authentication certificates of the profile contain no e-mail address.
            #expect((identity.email == nil) == (identity.type == "authentication"))
            #expect(
                file.file
                    == "\(identity.type == "authentication" ? "piv" : identity.type)_\(identity.serial).p12")
            #expect(try simulation.scratch.mode("\(folder)/\(file.file)") == 0o600)
        }
        #expect(Set(files.compactMap(\.identity?.person)).count == 2)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(try simulation.scratch.read("out/index.json")))
                as? [String: Any])
        let row = try #require((object["files"] as? [[String: Any]])?.first)
        for field in [
            "file", "label", "person", "email", "edipi", "type", "serial", "notBefore", "notAfter", "profile",
        ] { #expect(row[field] != nil, "\(field)") }
    }

    @Test("--person selects the files, and --names person names them by person and date")
    func persons() async throws {
        try await provision(
            "--persons", try simulation.write("name\nDana Example\nAlex Other\n", as: "p.csv"))
        let run = try await simulation.provider(
            ["export", "--person", "dana", "--names", "person", "-o", folder, "--profile", "compatible"]
                + password)
        #expect(run.status == 0)
        let files = try index().files
        #expect(files.count == 12)
        for file in files {
            let identity = try #require(file.identity)
            let person = try #require(identity.person)
            #expect(person.hasPrefix("EXAMPLE.DANA."))
            #expect(file.file.hasPrefix(person + "_") && file.file.contains(identity.notBefore.dayText))
            #expect(file.profile == "compatible")
            #expect(try !open("out/\(file.file)").isEmpty)
        }
        #expect(
            try await simulation.provider(["export", "--all", "--person", "nobody", "-o", folder]).status == 9
        )
    }

    @Test("Export writes several items to a folder, each once even if it is named twice")
    func items() async throws {
        try await provision("--generations", "1", "--person", "Dana Example")
        let all = try await simulation.items().filter { $0.kind == "pkcs12" }
        let label = try #require(all.first).identifier
        let run = try await simulation.provider(
            ["export", label, String(label.prefix(12)), "piv/", "PIV.zip", "-o", folder] + password)
        #expect(run.status == 9 && run.errors.contains("is a folder"))
        #expect(!FileManager.default.fileExists(atPath: folder))
        let good = try await simulation.provider(
            ["export", label, String(label.prefix(12)), "PIV.zip", "-o", folder] + password)
        #expect(good.status == 0)
        #expect(try index().files.map(\.file) == [all[0].filename, "PIV.zip"])
        #expect(try index().files[1].identity == nil)
        #expect(try ZipBundle.read(try simulation.scratch.read("out/PIV.zip")).entries.count == 1)
    }

    @Test("Export writes files with equal names under distinct names")
    func equalNames() async throws {
        try await provision("--person", "Dana Example", "--generations", "1", "--types", "encryption")
        try await provision(
            "--person", "Dana Example", "--edipi", "1234567890", "--generations", "1", "--types", "encryption"
        )
        try await provision(
            "--person", "Dana Example", "--edipi", "1234567890", "--generations", "1", "--types",
            "encryption",
            "--profile", "dod-2018")
        try await simulation.provider(["export", "--all", "--names", "person", "-o", folder] + password)
        let names = try index().files.map(\.file)
        #expect(Set(names).count == names.count && names.count >= 2)
    }

    @Test("An existing folder is replaced only with --force, and never if it contains other files")
    func existing() async throws {
        try await provision("--generations", "1")
        let export = ["export", "--all", "-o", folder] + password
        #expect(try await simulation.provider(export).status == 0)
        let before = try simulation.scratch.read("out/index.json")
        let refused = try await simulation.provider(export)
        #expect(refused.status == 10 && refused.errors.contains("hint: --force replaces it"))
        try await provision("--generations", "1", "--types", "device")
        #expect(try await simulation.provider(export + ["--force"]).status == 0)
        #expect(try simulation.scratch.read("out/index.json") != before)
        #expect(try index().files.count == 4)

        _ = try simulation.write("mine", as: "out/notes.txt")
        let kept = try await simulation.provider(export + ["--force"])
        #expect(kept.status == 10 && kept.errors.contains("notes.txt"))
        #expect(try simulation.scratch.read("out/notes.txt") == Array("mine".utf8))
        #expect(!(try simulation.scratch.names(simulation.scratch.path)).contains { $0.hasPrefix(".") })
        // A name that is not UTF-8 does not prevent the check.
        try simulation.scratch.shell(
            "rm out/notes.txt; touch \"out/$(printf 'r\\351sum\\351.doc')\"; mkdir out/sub")
        let odd = try await simulation.provider(export + ["--force"])
        #expect(odd.status == 10 && odd.errors.contains("r\u{FFFD}sum\u{FFFD}.doc, sub"), "\(odd.errors)")
        #expect(try odd.errors.contains("hint: choose another folder") && index().files.count == 4)
    }

    @Test("An index that is a pipe or larger than its limit is not read, and the folder is not replaced")
    func unsuitableIndex() async throws {
        try await provision("--generations", "1")
        let export = ["export", "--all", "-o", folder] + password
        #expect(try await simulation.provider(export).status == 0)
        for command in ["mkfifo out/index.json", "truncate -s 3G out/index.json"] {
            try simulation.scratch.shell("rm out/index.json; " + command)
            let run = try await simulation.provider(export + ["--force"])
            #expect(run.status == 10 && run.errors.contains("index.json"), "\(run.errors)")
        }
    }

    @Test("Export removes a folder that it cannot complete")
    func failing() async throws {
        try await provision("--generations", "1")
        try await simulation.device("restart")
        let run = try await simulation.provider(["export", "--all", "-o", folder] + password)
        #expect(run.status == 10)
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(!(try simulation.scratch.names(simulation.scratch.path)).contains { $0.hasPrefix(".") })
        try await simulation.device("unlock")
        let nowhere = ["export", "--all", "-o", simulation.scratch.path("missing/out")] + password
        #expect(try await simulation.provider(nowhere).status == 73)
    }

    @Test("Export removes its unfinished folder when a signal stops it")
    func interrupted() async throws {
        try await provision("--count", "30", "--generations", "3")
        let running = try RunningCommand(
            .provider,
            ["export", "--all", "-o", folder, "--device", simulation.device, "--iterations", "100000"])
        let unfinished = simulation.scratch.path(".out.unfinished")
        try await running.wait {
            ((try? FileManager.default.contentsOfDirectory(atPath: unfinished)) ?? []).count > 2
        }
        running.signal(SIGTERM)
        #expect(try await running.finish().status == 143)
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(!FileManager.default.fileExists(atPath: unfinished))
    }

    @Test("The legacy mechanism writes tmp.p12 or tmp.zip, to a file or into a folder")
    func legacy() async throws {
        try await provision("--generations", "2", "--person", "Dana Example")
        let types = ["--mechanism", "legacy", "--uti", "purebred.zip.all"]
        let file = simulation.scratch.path("tmp.zip")
        let run = try await simulation.provider(
            ["export", "tmp.zip", "-o", file, "--json"] + types + password)
        #expect(run.status == 0)
        #expect(try run.document(ExportDocument.self).filename == "tmp.zip")
        let entries = try ZipBundle.read(try simulation.scratch.read("tmp.zip")).entries
        // Both encryption identities, and the most recent of the other types.
        #expect(entries.map(\.name) == ["0.p12", "1.p12", "2.p12", "3.p12"])
        #expect(
            try await simulation.provider(["export", "--all", "-o", folder] + types + password).status == 0)
        #expect(try simulation.scratch.names(folder) == ["index.json", "tmp.zip"])

        let single = ["--mechanism", "legacy", "--uti", "purebred.select.signature"]
        let other = simulation.scratch.path("single")
        #expect(
            try await simulation.provider(["export", "--all", "-o", other] + single + password).status == 0)
        #expect(try simulation.scratch.names(other) == ["index.json", "tmp.p12"])
        let identity = try #require(try open("single/tmp.p12").first)
        #expect(identity.friendlyName == identity.certificate.subject.oneLine)
        #expect(identity.friendlyName?.hasPrefix("/C=US/O=") == true)

        let many = ["--mechanism", "legacy", "--uti", "purebred.select.encryption"]
        let third = simulation.scratch.path("many")
        try await simulation.provider(["export", "--all", "-o", third] + many + password)
        #expect(try simulation.scratch.names(third) == ["index.json", "tmp-2.p12", "tmp.p12"])
        #expect(try await simulation.provider(["export", "tmp.zip", "-o", "-"] + many).status == 9)
        #expect(try await simulation.provider("export", "tmp.zip", "--uti", "purebred.zip.all").status == 64)
    }

    @Test("A selector without identities is exported as an empty zip of 22 bytes")
    func emptyZip() async throws {
        try await provision("--types", "signature")
        let path = simulation.scratch.path("Device.zip")
        let run = try await simulation.provider(
            ["export", "Device.zip", "-o", path, "--json"] + password)
        #expect(run.status == 0)
        #expect(try run.document(ExportDocument.self).size == 22)
        let bytes = try simulation.scratch.read("Device.zip")
        #expect(bytes.count == 22 && ZipBundle.isArchive(bytes))
        #expect(try ZipBundle.read(bytes).entries.isEmpty)
    }

    @Test("Export accepts the profile sample-served, which is the default of serve --like-the-sample")
    func sampleServed() async throws {
        try await provision("--types", "signature", "--generations", "1")
        let path = simulation.scratch.path("a.p12")
        let item = try await simulation.firstIdentifier()
        #expect(
            try await simulation.provider(
                ["export", item, "-o", path, "--profile", "sample-served"] + password
            ).status == 0)
        let contents = try PKCS12.read(
            try simulation.scratch.read("a.p12"), password: .text(SecretBytes(utf8: Self.secret)))
        #expect(contents.layers.map(\.place) == ["safe 2, bag 1"])

        try await simulation.serve("--like-the-sample")
        let (bytes, secret) = try await ProviderClient.withConnection(
            path: simulation.device + "/provider.sock"
        ) { client in
            _ = try await client.startAccessing(item)
            return (try await client.readAll(item), try await client.fetchPassword(for: item))
        }
        let served = try PKCS12.read(bytes, password: .text(secret))
        #expect(served.layers.map(\.place) == ["safe 2, bag 1"])
        #expect(served.layers.map(\.iterations) == [2_048] && served.mac?.iterations == 2_048)
    }

    @Test(
        "Export for a sample app uses the app's file names and password, with the oldest generation first",
        arguments: SampleApp.allCases)
    func samples(app: SampleApp) async throws {
        try await provision("--person", "Dana Example")
        let run = try await simulation.provider("export", "--for", app.rawValue, "-o", folder)
        #expect(run.status == 0 && run.text.contains("Build the app"))
        let expected = app.files.flatMap(\.names)
        #expect(
            Set(try simulation.scratch.names(folder))
                == Set(expected + ["index.json", "password.txt", "README.txt"]))
        #expect(try simulation.scratch.read("out/password.txt") == Array("password\n".utf8))
        #expect(
            String(decoding: try simulation.scratch.read("out/README.txt"), as: UTF8.self).contains("place"))
        for (type, names) in app.files {
            let identities = try names.map { try #require(try open("out/\($0)", "password").first) }
            #expect(identities.allSatisfy { IdentitySummaryType.of($0.certificate) == type.rawValue })
            let starts = identities.map(\.certificate.notBefore)
            #expect(starts == starts.sorted() && Set(starts).count == starts.count)
        }
        #expect(try index().files.allSatisfy { $0.profile == "purebred-sample" })
        let again = try await simulation.provider("export", "--for", app.rawValue, "-o", folder, "--force")
        #expect(again.status == 0)
    }

    @Test("Export with an empty password prints a warning, unless the profile uses the empty password")
    func emptyPassword() async throws {
        try await provision("--generations", "1", "--types", "signature")
        let empty = ["--password-file", try simulation.write("", as: "empty")]
        let warning = "warning: the password is empty"
        let file = simulation.scratch.path("one.zip")
        for export in [["--all", "-o", folder, "--force"], ["Unfiltered.zip", "-o", file, "--force"]] {
            let run = try await simulation.provider(["export"] + export + empty)
            #expect(run.status == 0 && run.errors.contains(warning), "\(run.errors)")
            for silent in [password, [], ["--profile", "empty-password"]] {
                let run = try await simulation.provider(["export"] + export + silent)
                #expect(run.status == 0 && !run.errors.contains(warning), "\(run.errors)")
            }
        }
    }

    @Test("Export for a sample app requires one person with enough generations")
    func sampleChoice() async throws {
        let export = ["export", "--for", "sample-key-provider-2025", "-o", folder]
        try await provision("--person", "Dana Example", "--generations", "3")
        let few = try await simulation.provider(export)
        #expect(few.status == 9 && few.errors.contains("4 of the type encryption"))
        try await provision("--person", "Alex Other")
        try await provision("--person", "Kim Third")
        let several = try await simulation.provider(export)
        #expect(several.status == 9 && several.errors.contains("--person: OTHER.ALEX."))
        #expect(try await simulation.provider(export + ["--person", "alex"]).status == 0)
        #expect(try index().files.allSatisfy { $0.identity?.person?.hasPrefix("OTHER.ALEX.") == true })
        #expect(try await simulation.provider(export + password).status == 64)
    }

    @Test(
        "Contradictory options are rejected",
        arguments: [
            ["export"], ["export", "--all", "x"], ["export", "x", "--names", "person"],
            ["export", "--for", "ctk-provider", "--all"], ["export", "--all"],
            ["export", "--all", "-o", "-"],
            ["export", "--for", "no-app", "-o", "x"],
        ])
    func usage(arguments: [String]) async throws {
        try await provision("--generations", "1", "--types", "signature")
        #expect(try await simulation.provider(arguments).status == 64)
    }
}

/// Determines the type of a certificate as the commands print it.
private enum IdentitySummaryType {
    static func of(_ certificate: Certificate) -> String { CertificateDocument(certificate).type }
}
