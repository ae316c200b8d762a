import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite("Explanations of all items", .timeLimit(.minutes(10)))
struct ExplainTests {
    @Test(
        "Requested items come first, and items of one folder with the same reason share one line"
    )
    func summary() async throws {
        let simulation = try Simulation()
        let encryption = ["--uti", "purebred2025.select.encryption"]
        try await simulation.provider("provision", "--key", "p256", "--generations", "2")
        try await simulation.serve()
        let few = try await simulation.consumer(["explain"] + encryption)
        #expect(few.status == 0)
        try await simulation.provider("provision", "--key", "p256", "--generations", "2", "--count", "4")
        let many = try await simulation.consumer(["explain"] + encryption)
        func lines(_ run: CommandRun) -> [String] { run.text.split(separator: "\n").map(String.init) }
        #expect(lines(many).count < 60)
        #expect(lines(many).count == lines(few).count)
        let own =
            "Encryption: 10 files disabled, companion missing: add --uti purebred2025.select.encryption-p12"
        #expect(lines(many).contains(own), "\(many.text)")
        let place = try #require(lines(many).firstIndex { $0 == own })
        let unasked = try #require(lines(many).firstIndex { $0.contains("not requested") })
        #expect(place < unasked)
        #expect(many.errors.contains("--all explains each"))

        let all = try await simulation.consumer(["explain", "--all"] + encryption)
        #expect(lines(all).count > 100)
        let narrow = try await simulation.consumer(["explain"] + encryption, environment: ["COLUMNS": "80"])
        #expect(
            lines(narrow).allSatisfy { $0.count <= 80 || $0.hasPrefix("    add --uti ") }, "\(narrow.text)")
    }

    @Test("A failed import prints no table, reports a cause once, and ends with the number of identities")
    func imports() async throws {
        let simulation = try Simulation()
        let secret = try simulation.write("secret\n", as: "secret.txt")
        let wrong = try simulation.write("secret \n", as: "wrong.txt")
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "2", "--types", "signature")
        var files: [String] = []
        for (number, item) in try await simulation.items().filter({ $0.kind == "pkcs12" }).enumerated() {
            files.append(simulation.scratch.path("\(number).p12"))
            let run = try await simulation.provider(
                "export", item.identifier, "--password-file", secret, "-o", files[number])
            #expect(run.status == 0)
        }
        #expect(files.count == 2)
        let run = try await simulation.consumer(
            "import", "--file", files[0], "--file", files[1], "--password-file", wrong)
        #expect(run.status == 3)
        #expect(run.text.isEmpty)
        #expect(
            run.errors.contains(
                "keyshare-consumer: 2 files: the password is wrong: the file opens without the whitespace at the end"
            ))
        #expect(run.errors.split(separator: "\n").count { $0.hasPrefix("hint:") } == 1)
        #expect(run.errors.hasSuffix("0 of 2 imported, 2 failed: wrong password\n"))

        let none = try await simulation.consumer("import", "--file", files[0])
        #expect(none.status == 3 && none.errors.contains("a password is required"))
        let right = try await simulation.consumer(
            "import", "--file", files[0], "--file", files[1], "--password-file", secret)
        #expect(right.status == 0 && right.errors.hasSuffix("2 of 2 imported\n"))
        let again = try await simulation.consumer(
            "import", "--file", files[0], "--file", files[1], "--password-file", secret)
        #expect(again.errors.hasSuffix("0 of 2 imported, 2 already existed\n"))
    }

    @Test("Export reports which files are encrypted with the service's secret password")
    func secretPassword() async throws {
        let simulation = try Simulation()
        let secret = try simulation.write("secret\n", as: "secret.txt")
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        let file = simulation.scratch.path("e.zip")
        let run = try await simulation.provider("export", "Encryption.zip", "-o", file)
        #expect(
            run.status == 0 && run.errors.contains("encrypted with the password service's secret password"))
        let other = simulation.scratch.path("f.zip")
        let own = try await simulation.provider(
            "export", "Encryption.zip", "--password-file", secret, "-o", other)
        #expect(own.status == 0 && !own.errors.contains("secret"))
    }
}
