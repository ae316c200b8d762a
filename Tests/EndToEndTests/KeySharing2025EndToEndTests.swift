import Foundation
import Glibc
import TestSupport
import Testing

@Suite("The 2025 loop through the built commands")
struct KeySharing2025EndToEndTests {
    @Test("provisions, serves, browses, imports and stops, and leaves nothing running")
    func loop() async throws {
        let simulation = try Simulation()
        #expect(try await simulation.provider("provision", "--key", "p256").status == 0)

        let root = try await simulation.items()
        #expect(root.filter { $0["kind"] as? String == "pkcs12" }.count == 12)
        #expect(root.filter { $0["kind"] as? String == "folder" }.count == 7)
        #expect(root.filter { $0["kind"] as? String == "zip" }.count == 7)
        let folders = ["All User", "All", "PIV", "Signature", "Encryption", "Device", "Unfiltered"]
        let counts = [6, 6, 1, 1, 4, 0, 12]
        #expect(try await simulation.counts(folders) == counts)

        try await simulation.serve()
        let piv = try #require(try await simulation.items("PIV").first?["filename"] as? String)
        let file = try await simulation.consumer("import", piv, "--uti", "com.rsa.pkcs-12", "--json")
        #expect(file.status == 0)
        #expect(try file.statuses() == ["imported"])
        let signature = try #require(try await simulation.items("Signature").first?["identifier"] as? String)
        let inFolder = try await simulation.consumer(
            "import", signature, "--uti", "purebred2025.select.signature-p12", "--json")
        #expect(try inFolder.statuses() == ["imported"])
        for (folder, count) in zip(folders, counts) {
            let zip = try await simulation.consumer(
                "import", "\(folder).zip", "--uti", "public.zip-archive", "--json")
            let arrived = try zip.results().filter { $0["status"] as? String != "failed" }
            #expect(arrived.count == count, "\(folder)")
            #expect(zip.status == (count == 0 ? 9 : 0), "\(folder)")
        }
        let held = try await simulation.held()
        #expect(held.count == 12)

        let trust = simulation.scratch.path("trust.pem")
        #expect(try await simulation.provider("trust", "-o", trust).status == 0)
        let verified = try await simulation.consumer("verify", "--trust", trust, "--json")
        #expect(verified.status == 7)
        let valid = try #require(try verified.json()["results"] as? [[String: Any]]).filter {
            $0["valid"] as? Bool == true
        }
        #expect(valid.count == 3)

        let stopped = try await simulation.stopServing()
        #expect(stopped.status == 0)
        #expect(!FileManager.default.fileExists(atPath: simulation.device + "/provider.sock"))
    }

    @Test("stops cleanly on either signal", arguments: [SIGTERM, SIGINT])
    func signals(signal: Int32) async throws {
        let simulation = try Simulation()
        try await simulation.serve()
        #expect(try await simulation.stopServing(by: signal).status == 0)
    }

    @Test("keeps to the device rules when device identities are there")
    func deviceIdentities() async throws {
        let simulation = try Simulation()
        let run = try await simulation.provider(
            "provision", "--key", "p256", "--types", "encryption,signature,authentication,device")
        #expect(run.status == 0)
        let folders = ["All User", "All", "PIV", "Signature", "Encryption", "Device", "Unfiltered"]
        #expect(try await simulation.counts(folders) == [6, 7, 1, 1, 4, 1, 16])
    }

    @Test("calls what is there already a duplicate, and a success")
    func duplicates() async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        try await simulation.serve()
        let arguments = ["import", "All.zip", "All User.zip", "--uti", "public.zip-archive", "--json"]
        let first = try await simulation.consumer(arguments)
        #expect(
            try first.statuses() == Array(repeating: "imported", count: 3)
                + Array(repeating: "duplicate", count: 3))
        #expect(first.status == 0)
        #expect(
            try await simulation.consumer(arguments).statuses() == Array(repeating: "duplicate", count: 6))
    }

    @Test("shows an item's certificates before import, disabled or not, and imports nothing by it")
    func details() async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "2")
        try await simulation.serve()
        let file = try #require(try await simulation.items("PIV").first?["identifier"] as? String)
        let one = try await simulation.consumer("browse", "--details", file, "--json")
        #expect(one.status == 0)
        let entries = try #require(try one.json()["entries"] as? [[String: Any]])
        let certificates = try #require(entries.first?["certificates"] as? [[String: Any]])
        #expect(certificates.first?["type"] as? String == "authentication")
        let zip = try await simulation.consumer("browse", "--details", "All.zip", "--json")
        #expect((try zip.json()["entries"] as? [Any])?.count == 4)
        #expect(try await simulation.held().isEmpty)
    }

    @Test("gives the same key and certificate that the keychain holds")
    func exportUnderOwnPassword() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "rsa2048", "--generations", "1", "--types", "signature")
        let secret = try simulation.write("correct horse\n", as: "secret")
        let item = try #require(try await simulation.items().first?["identifier"] as? String)
        for profile in ["modern", "compatible"] {
            let path = simulation.scratch.path("\(profile).p12")
            let exported = try await simulation.provider(
                "export", item, "-o", path, "--password-file", secret, "--profile", profile)
            #expect(exported.status == 0)
            let inspected = try await simulation.consumer(
                "inspect", path, "--password-file", secret, "--json")
            let identities = try #require(try inspected.json()["identities"] as? [[String: Any]])
            #expect(identities.first?["label"] as? String == item)
        }
        let imported = try await simulation.consumer(
            "import", "--file", simulation.scratch.path("modern.p12"), "--password-stdin",
            input: "correct horse\n")
        #expect(imported.status == 0)
        #expect(try await simulation.held().first?["label"] as? String == item)
    }

    @Test("shows every attribute of a held identity by the start of its label")
    func show() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        try await simulation.serve()
        let label = try #require(try await simulation.items().first?["identifier"] as? String)
        try await simulation.consumer("import", label)
        let shown = try await simulation.consumer("show", String(label.prefix(8).lowercased()), "--json")
        let json = try shown.json()
        #expect(json["label"] as? String == label)
        #expect(json["accessible"] as? String == "WhenPasscodeSetThisDeviceOnly")
        #expect(json["canSign"] as? Bool == true)
        #expect(json["canDecrypt"] as? Bool == false)
        #expect(json["keySizeInBits"] as? Int == 256)
        #expect(json["isPermanent"] as? Bool == true)
        #expect(try await simulation.consumer("show", "00000000000").status == 9)
    }

    @Test("empties each keychain without touching the other")
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
        "serves files of every profile, and the consumer takes all but those without a MAC",
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

    @Test("verifies a file without importing it, by the chain inside it, and names it as asked")
    func verifyFile() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        let item = try #require(try await simulation.items().first?["identifier"] as? String)
        let password = try simulation.write("p", as: "password")
        let whole = simulation.scratch.path("trust.pem")
        try await simulation.provider("trust", "-o", whole)
        // The roots alone: what lies between must come out of the file.
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
        let inspected = try await simulation.consumer(
            "inspect", simulation.scratch.path("chain.p12"), "--password-file", password, "--json")
        let json = try inspected.json()
        #expect(json["certificates"] as? Int == 3)
        #expect((json["identities"] as? [[String: Any]])?.first?["friendlyName"] as? String == "Me")
        #expect(try await simulation.held().isEmpty)
    }
}
