import TestSupport
import Testing

/// The module in a Python program that is also its provider.
@Suite(
    "The arguments of a login to the PKCS #11 module",
    .enabled(if: SecondClient.isAvailable, "python3 is missing"), .timeLimit(.minutes(10)))
struct LoginArgumentTests {
    private static let program = """
        import sys
        sys.path.insert(0, sys.argv[1] + "/scripts/hardening_rows")
        from pkcs11_guards import *

        module, mode = Module(sys.argv[2]), int(sys.argv[3])
        kinds = []
        with tempfile.TemporaryDirectory() as folder:
            provider = Provider(folder)
            provider.login = bytes([mode]) + PIN_MODE[1:]
            reply = provider.answer

            def answer(peer, kind, number, body):
                if kind == LOGIN:
                    kinds.append(body[0])
                return reply(peer, kind, number, body)

            provider.answer = answer
            with Program(module, provider):
                session = opened(module)
                expect(module.C_Login(session, 1, b"", 0), int(sys.argv[4]), "a login with an empty PIN")
                need(2 not in kinds, f"an empty PIN was compared: {kinds}")
                if mode == 2:
                    expect(log_in(module, session), OK, "a login with a PIN")
                    need(2 in kinds, f"the PIN was not compared: {kinds}")
        """

    @Test(
        "An empty PIN is the same as no PIN, and uses up no attempt",
        arguments: [(mode: "1", code: "0"), (mode: "2", code: "7")])
    func emptyPIN(mode: String, code: String) async throws {
        let run = try await SecondClient.python([
            "-c", Self.program, PackageFolder.path, BuiltCommand.pkcs11Module, mode, code,
        ])
        #expect(run.status == 0, "\(run.output)")
    }
}
