import TestSupport
import Testing

/// The module in a Python program that is also its provider. The provider calls `C_Logout` in another session before it
/// replies to the request of a call, so the logout always happens during the call.
@Suite(
    "The end of a login during a call of the PKCS #11 module",
    .enabled(if: SecondClient.isAvailable, "python3 is missing"), .timeLimit(.minutes(10)))
struct LogoutTests {
    private static let program = """
        import sys
        sys.path.insert(0, sys.argv[1] + "/scripts/hardening_rows")
        from pkcs11_guards import *

        request, again = int(sys.argv[3]), sys.argv[4] == "again"
        module, length = Module(sys.argv[2]), ULONG(1)
        with tempfile.TemporaryDirectory() as folder:
            provider = Provider(folder)
            provider.login, provider.result = PIN_MODE, lambda: b"s" * 32
            reply, ended = provider.answer, []
            with Program(module, provider):
                session, other = opened(module), opened(module)
                expect(log_in(module, session), OK, "the login")
                rsa = module.key(session, 0, DECRYPT)

                def answer(peer, kind, number, body):
                    if kind == request and not ended:
                        ended.append(module.C_Logout(other))
                        if again:
                            ended.append(log_in(module, other))
                    return reply(peer, kind, number, body)

                provider.answer = answer
                if request == USE_BEGIN:
                    expect(sign_init(module, session, rsa, SHA256_RSA_PKCS), OK, "C_SignInit")
                    code = module.C_SignUpdate(session, bytes(70_000), 70_000)
                    expect(code, NOT_LOGGED_IN, "C_SignUpdate during the logout")
                    length, out = ULONG(256), ctypes.create_string_buffer(256)
                    code = module.C_SignFinal(session, out, ctypes.byref(length))
                    expect(code, NO_OPERATION, "C_SignFinal after the logout")
                elif sys.argv[5] == "decrypt":
                    module.need("C_DecryptInit", session, ctypes.byref(Mechanism(RSA_PKCS, None, 0)), rsa)
                    out = ctypes.create_string_buffer(32)
                    code = module.C_Decrypt(session, bytes(256), 256, out, ctypes.byref(length))
                    expect(code, NOT_LOGGED_IN, "C_Decrypt with a small buffer during the logout")
                    length.value = 32
                    code = module.C_Decrypt(session, bytes(256), 256, out, ctypes.byref(length))
                    expect(code, NO_OPERATION, "C_Decrypt after the logout")
                else:
                    secret = derived(module, session, (2, b"\\1"))
                    need(secret == -NOT_LOGGED_IN, f"C_DeriveKey during the logout: {secret}")
                    if not again:
                        expect(log_in(module, other), OK, "the next login")
                    need(not module.find(other, (0, number(SECRET_KEY))), "a secret outlived its login")
                need(ended == [OK, OK][:1 + again], f"the logout and the login: {ended}")
        """

    @Test(
        "An operation and a derived secret end with their login, even if a call waits for the provider at that time",
        arguments: [("16", "sign"), ("15", "decrypt"), ("15", "derive")], ["out", "again"])
    func logout(during call: (request: String, name: String), then: String) async throws {
        let run = try await SecondClient.python([
            "-c", Self.program, PackageFolder.path, BuiltCommand.pkcs11Module, call.request, then, call.name,
        ])
        #expect(run.status == 0, "\(run.output)")
    }
}
