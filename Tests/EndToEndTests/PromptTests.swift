import Foundation
import TestSupport
import Testing

@Suite(
    "Password prompts on a terminal", .enabled(if: SecondClient.isAvailable, "there is no python3"),
    .timeLimit(.minutes(10)))
struct PromptTests {
    /// Starts a command on a terminal, waits until it asks without echo, and sends a signal. Prints the signal that ended
    /// the command, and whether the terminal has its settings from before.
    private static let interruption = """
        import os, pty, signal, sys, termios
        process, terminal = pty.fork()
        if process == 0:
            # A shell without job control ignores SIGINT in background processes.
            disposition = signal.SIG_IGN if sys.argv[1] == "ignored" else signal.SIG_DFL
            signal.signal(int(sys.argv[2]), disposition)
            os.read(0, 1)
            os.execv(sys.argv[3], sys.argv[3:])
        before = termios.tcgetattr(terminal)
        os.write(terminal, b"\\n")
        while termios.tcgetattr(terminal)[3] & termios.ECHO: pass
        if sys.argv[1] == "ignored":
            os.kill(process, signal.SIGHUP)
            os.write(terminal, b"wrong\\n")
        else:
            os.kill(process, int(sys.argv[2]))
        # Empties the terminal's buffer, so that the command can end.
        try:
            while os.read(terminal, 4096): pass
        except OSError: pass
        status = os.waitpid(process, 0)[1]
        print(os.WTERMSIG(status), os.waitstatus_to_exitcode(status), termios.tcgetattr(terminal) == before)
        """

    private func interrupt(_ mode: String, _ signal: Int32) async throws -> String {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--types", "signature")
        let file = simulation.scratch.path("file.p12")
        try await simulation.provider("export", try await simulation.firstIdentifier(), "-o", file)
        return try await SecondClient.python(
            ["-c", Self.interruption, mode, "\(signal)", BuiltCommand.consumer.path, "inspect", file]
        ).output
    }

    @Test("A signal that ends a prompt restores the terminal", arguments: [SIGHUP, SIGINT, SIGQUIT, SIGTERM])
    func signals(_ signal: Int32) async throws {
        #expect(try await interrupt("ends", signal) == "\(signal) -\(signal) True\n")
    }

    @Test("A prompt still ignores a signal that the command ignores, as with nohup")
    func ignoredSignal() async throws {
        #expect(try await interrupt("ignored", SIGHUP) == "0 3 True\n")
    }
}
