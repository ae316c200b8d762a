import CommandSupport
import Foundation
import KeyShareDeviceCommand
import TestSupport
import Testing

@Suite(
    "Socket activation by a service manager",
    .enabled(if: SecondClient.isAvailable, "there is no python3"), .timeLimit(.minutes(10)))
struct SocketActivationTests {
    /// Acts as a service manager: listens, starts the provider on the first connection with the socket as descriptor 3,
    /// and checks that the provider answers, stops, and does not remove the socket's file.
    private static let manager = """
        import os, select, signal, socket, subprocess, sys
        sys.path.insert(0, sys.argv[4])
        from toolbox import client
        path, command, device = sys.argv[1:4]
        os.mkdir(os.path.dirname(path), int(sys.argv[5], 8))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(8)
        waiting = socket.socket(socket.AF_UNIX)
        waiting.connect(path)
        child = os.fork()
        if child == 0:
            os.dup2(listener.fileno(), 3)
            os.set_inheritable(3, True)
            os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()), KEYSHARE_DEVICE=device)
            os.execv(command, [command, "serve", "--quiet"])
        if sys.argv[5] == "700":
            waiting.close()
            print(len(list(client.Client(path).items())))
            os.kill(child, signal.SIGTERM)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), os.path.exists(path))
        """

    private func run(mode: String) async throws -> String {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        return try await SecondClient.python(
            [
                "-c", Self.manager, simulation.scratch.path("run/provider.sock"), BuiltCommand.provider.path,
                simulation.device, PackageFolder.path + "/scripts", mode,
            ]
        ).output
    }

    @Test(
        "A provider serves a client that waits on an activated socket, and exits without removing the socket")
    func activated() async throws {
        #expect(try await run(mode: "700") == "17\n0 True\n")
    }

    @Test("A provider rejects an activated socket in a folder that other users can access")
    func exposed() async throws {
        #expect(try await run(mode: "755").hasSuffix("73 True\n"))
    }
}

@Suite("The socket of the user's service", .timeLimit(.minutes(10)))
struct ServiceSocketTests {
    private let scratch: ScratchFolder
    private let environment: [String: String]
    private var service: String { scratch.path("run/keyshare/provider.sock") }
    private var own: String { scratch.path("data/keyshare/provider.sock") }

    init() async throws {
        scratch = try ScratchFolder()
        for folder in ["data", "run/keyshare"] {
            try FileManager.default.createDirectory(
                atPath: scratch.path(folder), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
        environment = ["XDG_DATA_HOME": scratch.path("data"), "XDG_RUNTIME_DIR": scratch.path("run")]
        let made = try await run(.provider, "provision", "--key", "p256", "--generations", "1")
        #expect(made.status == 0)
    }

    private func run(
        _ command: BuiltCommand, _ arguments: String..., adding more: [String: String] = [:]
    ) async throws -> CommandRun {
        try await RunningCommand(command, arguments, environment: environment.merging(more) { $1 }).finish()
    }

    @Test("A consumer finds the service's socket for the default device, and for no other device")
    func found() async throws {
        let provider = try RunningCommand(
            .provider, ["serve", "--socket", service], environment: environment)
        try await provider.waitForError(containing: "listening on")
        let listing = try await run(.consumer, "browse")
        #expect(listing.status == 0 && listing.text.contains("Encryption"))
        let status = try await run(.device, "status", "--json").document(DeviceStatusDocument.self)
        #expect(status.service.socket == service && status.service.serving)

        let other = ["KEYSHARE_DEVICE": scratch.path("other")]
        _ = try await run(.provider, "provision", "--key", "p256", "--generations", "1", adding: other)
        let refused = try await run(.consumer, "browse", adding: other)
        #expect(refused.status == 8 && !refused.errors.contains(service))

        provider.signal(SIGTERM)
        _ = try await provider.finish()
    }

    @Test("The device's own provider takes precedence over the service")
    func precedence() async throws {
        let providers = try [own, service].map {
            try RunningCommand(.provider, ["serve", "--socket", $0], environment: environment)
        }
        for provider in providers { try await provider.waitForError(containing: "listening on") }
        let status = try await run(.device, "status", "--json").document(DeviceStatusDocument.self)
        #expect(status.service.socket == own)
        for provider in providers {
            provider.signal(SIGTERM)
            _ = try await provider.finish()
        }
    }

    @Test("A provider that receives two sockets from a service manager is a usage error")
    func twoSockets() async throws {
        // The process of the shell becomes the provider.
        let run = try await TerminalRun.run(
            "LISTEN_FDS=2 LISTEN_PID=$$ exec keyshare-provider serve --quiet", columns: 110,
            in: scratch.path, environment: environment)
        #expect(run.status == 64)
        let words = "2 sockets were passed, but only one is supported"
        #expect(run.lines.contains { $0.contains(words) }, "\(run.lines)")
    }

    @Test("Without a provider, the message names both sockets")
    func neither() async throws {
        let listing = try await run(.consumer, "browse")
        #expect(listing.status == 8)
        #expect(listing.errors.contains("no provider listens at \(own) or \(service)"))
        #expect(listing.errors.contains("hint: "))
    }
}
