import CommandSupport
import Foundation
import Glibc
import KeyShareConsumerCommand
import TestSupport
import Testing

@Suite("Key sharing of 2025, end to end", .timeLimit(.minutes(10)))
struct KeySharing2025EndToEndTests {
    @Test("The whole workflow succeeds, from provisioning to import, and leaves no process running")
    func loop() async throws {
        let simulation = try Simulation()
        #expect(try await simulation.provider("provision", "--key", "p256").status == 0)

        let root = try await simulation.items()
        #expect(root.count { $0.kind == "pkcs12" } == 12)
        #expect(root.count { $0.kind == "folder" } == 7)
        #expect(root.count { $0.kind == "zip" } == 7)
        let folders = ["All User", "All", "PIV", "Signature", "Encryption", "Device", "Unfiltered"]
        let counts = [6, 6, 1, 1, 4, 0, 12]
        #expect(try await simulation.counts(folders) == counts)

        try await simulation.serve()
        let piv = try #require(try await simulation.items("PIV").first).filename
        let file = try await simulation.consumer("import", piv, "--uti", "com.rsa.pkcs-12", "--json")
        #expect(file.status == 0)
        #expect(try file.statuses() == [.imported])
        let signature = try #require(try await simulation.items("Signature").first).identifier
        let inFolder = try await simulation.consumer(
            "import", signature, "--uti", "purebred2025.select.signature-p12", "--json")
        #expect(try inFolder.statuses() == [.imported])
        for (folder, count) in zip(folders, counts) {
            let zip = try await simulation.consumer(
                "import", "\(folder).zip", "--uti", "public.zip-archive", "--json")
            #expect(try zip.statuses().count { $0 != .failed } == count, "\(folder)")
            #expect(zip.status == (count == 0 ? 9 : 0), "\(folder)")
        }
        let held = try await simulation.held()
        #expect(held.count == 12)

        let trust = simulation.scratch.path("trust.pem")
        #expect(try await simulation.provider("trust", "-o", trust).status == 0)
        let verified = try await simulation.consumer("verify", "--trust", trust, "--json")
        #expect(verified.status == 7)
        #expect(try verified.document(VerificationDocument.self).results.count(where: \.valid) == 3)

        let stopped = try await simulation.stopServing()
        #expect(stopped.status == 0)
        #expect(!FileManager.default.fileExists(atPath: simulation.device + "/provider.sock"))
    }

    @Test("The provider exits cleanly on SIGINT and SIGTERM", arguments: [SIGTERM, SIGINT])
    func signals(signal: Int32) async throws {
        let simulation = try Simulation()
        try await simulation.serve()
        #expect(try await simulation.stopServing(by: signal).status == 0)
    }

    @Test("Device identities are listed in exactly the folders that the rules require")
    func deviceIdentities() async throws {
        let simulation = try Simulation()
        let run = try await simulation.provider(
            "provision", "--key", "p256", "--types", "encryption,signature,authentication,device")
        #expect(run.status == 0)
        let folders = ["All User", "All", "PIV", "Signature", "Encryption", "Device", "Unfiltered"]
        #expect(try await simulation.counts(folders) == [6, 7, 1, 1, 4, 1, 16])
    }

    @Test("Importing an identity again reports a duplicate and succeeds")
    func duplicates() async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        try await simulation.serve()
        let arguments = ["import", "All.zip", "All User.zip", "--uti", "public.zip-archive", "--json"]
        let first = try await simulation.consumer(arguments)
        #expect(
            try first.statuses() == Array(repeating: .imported, count: 3)
                + Array(repeating: .duplicate, count: 3))
        #expect(first.status == 0)
        #expect(
            try await simulation.consumer(arguments).statuses() == Array(repeating: .duplicate, count: 6))
    }

    @Test("Browse shows the certificates of enabled and disabled items, and imports nothing")
    func details() async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "2")
        try await simulation.serve()
        let file = try #require(try await simulation.items("PIV").first).identifier
        let one = try await simulation.consumer("browse", "--details", file, "--json")
        #expect(one.status == 0)
        let entries = try one.document(ItemDetailsDocument.self).entries
        #expect(entries.flatMap(\.certificates).map(\.type) == ["authentication"])
        let zip = try await simulation.consumer("browse", "--details", "All.zip", "--json")
        #expect(try zip.document(ItemDetailsDocument.self).entries.count == 4)
        #expect(try await simulation.held().isEmpty)
    }

    @Test("Export writes the key and the certificate of the keychain")
    func exportUnderOwnPassword() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "rsa2048", "--generations", "1", "--types", "signature")
        let secret = try simulation.write("correct horse\n", as: "secret")
        let item = try await simulation.firstIdentifier()
        for profile in ["modern", "compatible"] {
            let path = simulation.scratch.path("\(profile).p12")
            let exported = try await simulation.provider(
                "export", item, "-o", path, "--password-file", secret, "--profile", profile)
            #expect(exported.status == 0)
            let inspected = try await simulation.inspect(path, passwordFile: secret)
            #expect(inspected.identities.map(\.label) == [item])
        }
        let imported = try await simulation.consumer(
            "import", "--file", simulation.scratch.path("modern.p12"), "--password-stdin",
            input: "correct horse\n")
        #expect(imported.status == 0)
        #expect(try await simulation.held().map(\.label) == [item])
    }

    @Test("Show finds an identity by a prefix of its label and prints every attribute")
    func show() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        try await simulation.serve()
        let label = try await simulation.firstIdentifier()
        try await simulation.consumer("import", label)
        let shown = try await simulation.consumer("show", String(label.prefix(8).lowercased()), "--json")
        let identity = try shown.document(HeldIdentityDocument.self)
        #expect(identity.label == label)
        #expect(identity.accessible == "WhenPasscodeSetThisDeviceOnly")
        #expect(identity.canSign && !identity.canDecrypt)
        #expect(identity.keySizeInBits == 256)
        #expect(identity.isPermanent)
        #expect(try await simulation.consumer("show", "00000000000").status == 9)
    }

    @Test("Clear empties the keychain of one side and does not change the other's")
    func clear() async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        try await simulation.serve()
        try await simulation.consumer("import", "All.zip", "--uti", "public.zip-archive")
        #expect(try await simulation.consumer("clear").status == 10)
        #expect(try await simulation.held().count == 3)
        #expect(try await simulation.consumer("clear", "--yes").status == 0)
        #expect(try await simulation.held().isEmpty)
        #expect(try await simulation.items().count == 17)
        #expect(try await simulation.provider("clear", "--yes").status == 0)
        #expect(try await simulation.items().count == 14)
    }

    @Test(
        "A provider serves files of every profile, and the consumer accepts all except those without a MAC",
        arguments: [
            ("modern", Int32(0)), ("compatible", 0), ("purebred-sample", 0), ("pbmac1", 0),
            ("empty-password", 0),
            ("no-mac", 10),
        ])
    func profiles(name: String, status: Int32) async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        try await simulation.serve("--profile", name)
        let zip = try await simulation.consumer("import", "All.zip", "--uti", "public.zip-archive", "--json")
        #expect(zip.status == status, "\(zip.errors)")
        let legacy = try await simulation.consumer(
            "import", "tmp.zip", "--mechanism", "legacy", "--uti", "purebred.zip.all", "--allow-paste",
            "--json")
        #expect(legacy.status == status, "\(legacy.errors)")
    }

    @Test("Verify checks a file with its included chain and imports nothing, and export sets the given name")
    func verifyFile() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        let item = try await simulation.firstIdentifier()
        let password = try simulation.write("p", as: "password")
        let whole = simulation.scratch.path("trust.pem")
        try await simulation.provider("trust", "-o", whole)
        // Only the roots: the intermediate authorities must come from the file.
        let pem = String(decoding: try simulation.scratch.read("trust.pem"), as: UTF8.self)
        let root = try simulation.write(
            String(pem.prefix(upTo: try #require(pem.range(of: "-----END CERTIFICATE-----\n")).upperBound)),
            as: "root.pem")
        for (name, arguments, status) in [
            ("bare", [], Int32(7)), ("chain", ["--chain", "--friendly-name", "Me"], 0),
        ] {
            let path = simulation.scratch.path("\(name).p12")
            let export = ["export", item, "-o", path, "--password-file", password] + arguments
            #expect(try await simulation.provider(export).status == 0)
            let run = try await simulation.consumer(
                "verify", "--trust", root, "--file", path, "--password-file", password, "--json")
            #expect(run.status == status, "\(run.text)")
        }
        let inspected = try await simulation.inspect(
            simulation.scratch.path("chain.p12"), passwordFile: password)
        #expect(inspected.certificates == 3)
        #expect(inspected.identities.map(\.friendlyName) == ["Me"])
        #expect(try await simulation.held().isEmpty)
    }
}
