import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite(
    "Socket activation by a service manager",
    .enabled(if: SecondClient.isAvailable, "there is no python3"), .timeLimit(.minutes(10)))
struct SocketActivationTests {
    /// Listens like a service manager, starts the provider on the first connection with the socket as descriptor 3, and
    /// checks that it answers, stops, and does not remove the socket's file.
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
