import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite("Locations of devices, and commands that create them", .timeLimit(.minutes(10)))
struct DevicePlaceTests {
    /// The commands that only read a device, or that change only an existing one.
    static let readers: [(BuiltCommand, [String])] = [
        (.provider, ["list"]), (.provider, ["export", "PIV.zip", "-o", "-"]), (.provider, ["trust"]),
        (.provider, ["check"]), (.provider, ["backup", "BACKUP"]), (.provider, ["clear", "--yes"]),
        (.consumer, ["browse"]), (.consumer, ["browse", "--watch"]), (.consumer, ["explain"]),
        (.consumer, ["list"]), (.consumer, ["show", "ABC"]), (.consumer, ["clear", "--yes"]),
        (.consumer, ["verify", "--trust", "TRUST"]), (.device, ["groups"]), (.device, ["keychain"]),
        (.device, ["pasteboard"]), (.device, ["reset", "--yes"]),
    ]

    @Test("A read-only command creates no device, exits with 9, and prints a hint", arguments: readers)
    func reading(command: BuiltCommand, arguments: [String]) async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        let trust = simulation.scratch.path("trust.pem")
        try await simulation.provider("trust", "-o", trust)
        let arguments = arguments.map {
            ["BACKUP": simulation.scratch.path("backup"), "TRUST": trust][$0] ?? $0
        }
        let missing = simulation.scratch.path("mistyped")
        let empty = simulation.scratch.path("empty")
        let other = simulation.scratch.path("other")
        for folder in [empty, other] {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        _ = try simulation.scratch.write([1], as: "other/file")
        for folder in [missing, empty, other, "/"] {
            let run = try await RunningCommand(
                command, arguments + ["--device", folder, "--json"], environment: [:]
            ).finish()
            #expect(run.status == 9, "\(folder): \(run.errors)")
            #expect(try run.errorCode() == "no-device")
            #expect(run.errors.contains("hint: create one with keyshare-provider provision"))
        }
        // A device named by the environment variable, or in the default folder, behaves like one named by the option.
        let variable = try await RunningCommand(
            command, arguments, environment: ["KEYSHARE_DEVICE": missing]
        ).finish()
        #expect(variable.status == 9)
        let home = try await RunningCommand(command, arguments, environment: ["XDG_DATA_HOME": empty])
            .finish()
        #expect(home.status == 9)
        #expect(!FileManager.default.fileExists(atPath: missing))
        #expect(try FileManager.default.contentsOfDirectory(atPath: empty).isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: other) == ["file"])
    }

    @Test(
        "A command that writes creates a missing device and reports it",
        arguments: [
            (BuiltCommand.provider, ["provision", "--key", "p256", "--generations", "1"]),
            (.provider, ["password", "rotate"]), (.device, ["unlock"]), (.device, ["passcode", "set"]),
        ])
    func createsDevice(command: BuiltCommand, arguments: [String]) async throws {
        let simulation = try Simulation()
        let first = try await RunningCommand(
            command, arguments, environment: ["KEYSHARE_DEVICE": simulation.device]
        ).finish()
        #expect(first.status == 0)
        #expect(first.errors.contains("created a device in \(simulation.device)"))
        #expect(try await simulation.provider("list").status == 0)
        let again = try await simulation.device("unlock")
        #expect(!again.errors.contains("created a device"))
    }

    @Test("No device is created in a folder with other files, and a reset device still works")
    func foreign() async throws {
        let simulation = try Simulation()
        let folder = simulation.scratch.path("documents")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        _ = try simulation.scratch.write([1], as: "documents/file")
        let run = try await simulation.provider("provision", "--device", folder, "--json")
        #expect(run.status == 73 && run.errors.contains("is neither empty nor a device"))
        #expect(try await simulation.provider("provision", "--device", "/").status == 73)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["file"])
        try await simulation.device("unlock")
        try await simulation.device("reset", "--yes")
        #expect(try await simulation.provider("list").status == 0)
    }

    @Test("A folder that only contains another program's folder named keychain is not a device")
    func foreignKeychain() async throws {
        let simulation = try Simulation()
        let folder = simulation.scratch.path("documents")
        try FileManager.default.createDirectory(
            atPath: folder + "/keychain", withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let file = try simulation.scratch.write([1], as: "documents/keychain/notes")
        #expect(try await simulation.device("reset", "--yes", "--device", folder).status == 9)
        #expect(try await simulation.device("restore", folder).status == 9)
        #expect(try await simulation.provider("merge", folder).status == 9)
        #expect(try await simulation.provider("provision", "--device", folder).status == 73)
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Data([1]))
        #expect(try simulation.scratch.names(folder) == ["keychain"])
    }

    @Test("A command with an explicit socket needs no device")
    func socket() async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        try await simulation.serve()
        let path = simulation.device + "/provider.sock"
        for command in ["browse", "explain"] {
            let run = try await RunningCommand(
                .consumer, [command], environment: ["KEYSHARE_SOCKET": path, "KEYSHARE_DEVICE": "/nowhere"]
            ).finish()
            #expect(run.status == 0, "\(run.errors)")
        }
    }

    @Test("Exporting an empty folder writes an archive without entries")
    func exportsEmptyFolder() async throws {
        let simulation = try Simulation()
        try await simulation.device("unlock")
        let file = simulation.scratch.path("unfiltered.zip")
        let run = try await simulation.provider("export", "Unfiltered.zip", "-o", file)
        #expect(run.status == 0, "\(run.errors)")
        #expect(try simulation.scratch.read("unfiltered.zip").count == 22)
    }
}
