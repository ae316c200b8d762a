import CommandSupport
import Foundation
import KeyShareConsumerCommand
import TestSupport
import Testing

@Suite("The exit codes of the commands", .timeLimit(.minutes(10)))
struct ExitCodeTests {
    private let simulation: Simulation
    private let password: String
    private let file: String

    /// A device with one identity, and a PKCS #12 file of it under a known password.
    init() async throws {
        simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        password = try simulation.write("right\n", as: "password")
        file = simulation.scratch.path("signature.p12")
        let label = try await simulation.firstIdentifier()
        try await simulation.provider("export", label, "-o", file, "--password-file", password)
    }

    @Test("A wrong password returns exit code 3, no matter how it is entered")
    func wrongPassword() async throws {
        let wrong = try simulation.write("wrong", as: "wrong")
        let byFile = try await simulation.consumer(
            "import", "--file", file, "--password-file", wrong, "--json")
        #expect(byFile.status == 3)
        #expect(try byFile.statuses() == [.failed])
        #expect(try byFile.errorCode() == "wrong-password")
        let byVariable = try await simulation.consumer(
            "import", "--file", file, "--password-env", "SECRET", environment: ["SECRET": "wrong"])
        #expect(byVariable.status == 3)
        #expect(
            try await simulation.consumer("import", "--file", file, "--password-stdin", input: "wrong").status
                == 3)
        #expect(try await simulation.consumer("import", "--file", file).status == 3)
        #expect(try await simulation.consumer("inspect", file, "--json").status == 3)
        #expect(try await simulation.held().isEmpty)
        let right = try await simulation.consumer(
            "import", "--file", file, "--password-env", "SECRET", environment: ["SECRET": "right"])
        #expect(right.status == 0)
    }

    @Test("Options that do not fit together, and values out of range, are usage errors that name them")
    func unsuitableOptions() async throws {
        let consumer = [
            (["browse", "--details", "PIV", "--watch"], "--details and --watch"),
            (["import", "PIV.zip", "--password-stdin"], "the provider supplies the passwords of items"),
            (["verify", "PIV", "--file", "a.pem", "--trust", "a.pem"], "cannot be combined"),
        ]
        let device = [
            (["passcode", "remove", "--password-stdin"], "require the action set"),
            (["presence", "answer", "yes", "--delay", "5"], "--delay requires"),
            (["presence", "--delay", "5"], "--delay requires"),
            (["presence", "answer"], "must be followed by yes, no or cancel"),
            (["presence", "deny", "yes"], "must be followed by yes, no or cancel"),
        ]
        let dates = Array(repeating: "2026-01-01", count: 101).joined(separator: ",")
        let provider = [
            (["provision", "--recovered", "101"], "--recovered must be a number from 0 to 100"),
            (["provision", "--dates", dates], "1 to 100 dates"),
            (["provision", "--dates", ","], "1 to 100 dates"),
            (["provision", "--at", "2500-01-01"], "outside the years 1900 to 2200"),
            (["backup"], "specify exactly one file"),
            (["backup", "a", "-o", "b"], "specify exactly one file"),
            (["token", "add"], "specify labels, --types, --person or --all"),
            (["faults", "--write", "a", "--only", "service"], "no test vectors of the groups"),
        ]
        for (arguments, words) in consumer {
            let run = try await simulation.consumer(arguments)
            #expect(run.status == 64 && run.errors.contains(words), "\(arguments)")
        }
        for (arguments, words) in device {
            let run = try await simulation.device(arguments)
            #expect(run.status == 64 && run.errors.contains(words), "\(arguments)")
        }
        for (arguments, words) in provider {
            let run = try await simulation.provider(arguments)
            #expect(run.status == 64 && run.errors.contains(words), "\(arguments)")
        }
        // There is no document about a single file that cannot be read.
        let inspected = try await simulation.consumer("inspect", simulation.scratch.path("missing"), "--json")
        #expect(try inspected.status == 74 && inspected.errorCode() == "unreadable")
        let merged = try await simulation.provider("merge", simulation.scratch.path("missing"), "--json")
        #expect(merged.status == 9 && merged.errors.contains("specify the folder of a device"))
    }

    @Test("The exit code is 5 if a file is truncated, damaged or not PKCS #12")
    func malformed() async throws {
        let whole = try simulation.scratch.read("signature.p12")
        let files = [
            try simulation.write("garbage", as: "garbage.p12"), try simulation.write("", as: "empty.p12"),
            try simulation.scratch.write(Array(whole.dropLast(7)), as: "cut.p12"),
            try simulation.write("PK\u{3}\u{4}garbage", as: "garbage.zip"),
        ]
        for path in files {
            #expect(
                try await simulation.consumer("import", "--file", path, "--password-file", password).status
                    == 5,
                "\(path)")
        }
        let inspected = try await simulation.consumer("inspect", files[0], "--json")
        #expect(inspected.status == 5)
        #expect(try inspected.document(InspectionDocument.self).verdict == "malformed")
        #expect(try await simulation.provider("import", files[0]).status == 5)
    }

    @Test("A missing required type returns exit code 6, and the imported identities are kept")
    func incomplete() async throws {
        let run = try await simulation.consumer(
            "import", "--file", file, "--password-file", password, "--require", "signature,encryption:2",
            "--json")
        #expect(run.status == 6)
        #expect(try run.document(ImportDocument.self).missing == ["encryption:2"])
        #expect(try await simulation.held().count == 1)
    }

    @Test("An identity that does not verify returns exit code 7")
    func validation() async throws {
        let trust = simulation.scratch.path("trust.pem")
        try await simulation.provider("trust", "-o", trust)
        try await simulation.consumer("import", "--file", file, "--password-file", password)
        #expect(try await simulation.consumer("verify", "--trust", trust).status == 0)
        #expect(try await simulation.consumer("verify", "--trust", trust, "--at", "2100-01-01").status == 7)
        let other = try Simulation()
        try await other.provider("provision", "--key", "p256", "--generations", "1", "--types", "signature")
        let foreign = simulation.scratch.path("foreign.pem")
        try await other.provider("trust", "-o", foreign)
        #expect(try await simulation.consumer("verify", "--trust", foreign).status == 7)
    }

    @Test("A provider that is not running returns exit code 8, with a hint on how to start it")
    func noProvider() async throws {
        let run = try await simulation.consumer("browse", "--json")
        #expect(run.status == 8)
        #expect(run.errors.contains("hint: start it with: keyshare-provider serve"))
        #expect(try run.errorCode() == "provider-not-running")
        #expect(try await simulation.consumer("import", "PIV.zip").status == 8)
    }

    @Test("A missing item, a folder and an empty archive return exit code 9")
    func noSuchItem() async throws {
        try await simulation.serve()
        for item in ["nothing.p12", "Encryption", "Nobody.zip", String(repeating: "0", count: 64)] {
            let run = try await simulation.consumer(
                "import", item, "--uti", "public.data", "--uti", "public.folder")
            #expect(run.status == 9, "\(item)")
        }
        #expect(
            try await simulation.consumer("import", "Device.zip", "--uti", "public.zip-archive").status == 9)
        #expect(try await simulation.consumer("browse", "Nobody").status == 9)
        #expect(try await simulation.provider("list", "Nobody").status == 9)
        #expect(try await simulation.provider("export", "nothing", "-o", "-").status == 9)
    }

    @Test("A disabled item and a file over a limit return exit code 10")
    func refused() async throws {
        try await simulation.serve()
        let disabled = try await simulation.consumer("import", "Signature.zip", "--json")
        #expect(disabled.status == 10)
        #expect(try disabled.errorCode() == "item-disabled")
        #expect(disabled.errors.contains("hint: request it with --uti purebred2025.zip.signature"))
        let large = try simulation.scratch.write([UInt8](repeating: 0x30, count: 2 << 20), as: "large.p12")
        #expect(
            try await simulation.consumer("import", "--file", large, "--password-file", password).status == 10
        )
        let inspected = try await simulation.consumer("inspect", large, "--json")
        #expect(try inspected.document(InspectionDocument.self).verdict == "refused")
    }

    @Test(
        "Invalid arguments return exit code 64",
        arguments: [
            ["import"], ["import", "a", "--file", "b"], ["nonsense"], ["browse", "--nonsense"],
            ["import", "--file", "x", "--require", "everything"], ["list", "--quiet", "--verbose"],
            ["import", "--file", "x", "--password-stdin", "--password-env", "Y"], ["verify"],
            ["verify", "--trust", "x", "--at", "sometime"],
            ["import", "--file", "x", "--password-env", "NOT_SET_ANYWHERE"],
        ])
    func usage(arguments: [String]) async throws {
        let run = try await simulation.consumer(arguments + ["--json"])
        #expect(run.status == 64)
        #expect(run.errors.hasPrefix("keyshare-consumer: "), "\(run.errors)")
        #expect(try run.errorCode() != nil)
    }

    @Test("A device that cannot be created returns exit code 73, and an unreadable file returns 74")
    func files() async throws {
        let blocked = try simulation.write("a file", as: "blocked")
        #expect(try await simulation.consumer("list", "--device", blocked).status == 73)
        #expect(
            try await simulation.provider("password", "rotate", "--device", "/proc/nothing/here").status == 73
        )
        #expect(try await simulation.consumer("inspect", simulation.scratch.path("missing")).status == 74)
        #expect(try await simulation.provider("trust", "-o", "/proc/nothing/here").status == 73)
    }

    @Test("A command with several failures tries everything and returns the first failure's exit code")
    func severalItems() async throws {
        try await simulation.serve()
        let run = try await simulation.consumer(
            "import", "Device.zip", "Signature.zip", "nothing.p12", "--uti", "public.zip-archive", "--json")
        #expect(run.status == 9)
        #expect(try run.statuses() == [.failed, .imported, .failed])
    }

    @Test("The help of provider and consumer explains every exit code")
    func documented() async throws {
        for run in [try await simulation.provider("--help"), try await simulation.consumer("--help")] {
            #expect(run.status == 0)
            for code in [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 64, 73, 74, 141] {
                #expect(run.text.contains(String(format: "\n%4d  ", code)), "\(code)")
            }
        }
    }
}
