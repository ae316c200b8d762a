import TestSupport
import Testing

/// The built module in a Python program that is also its provider. `scripts/hardening_rows/pkcs11_lies.py`,
/// `pkcs11_shown.py`, `pkcs11_guards.py` and `pkcs11_calls.py` have the details of each case.
@Suite(
    "The PKCS #11 module with a misbehaving provider",
    .enabled(if: SecondClient.isAvailable, "python3 is missing"), .timeLimit(.minutes(10)))
struct LyingProviderTests {
    private static let lies = [
        "signature-long", "signature-one-byte-long", "signature-one-byte-short", "signature-empty",
        "signature-of-a-curve-long", "signature-of-parts-long", "signature-beyond-the-key", "plaintext-long",
        "plaintext-very-long", "plaintext-twice", "secret-short", "secret-long",
        "secret-long-for-its-template",
        "derived-secret-long", "frame-truncated", "frame-of-4-gigabytes", "frame-beyond-the-buffer",
        "frame-without-a-header", "frame-of-a-type", "frame-twice", "frame-byte-by-byte",
        "type-of-another-reply",
        "type-of-a-request", "number-of-another-request", "failure-of-another-request", "failure-cut",
        "failure-unknown", "key-of-0-bits", "key-of-16385-bits", "key-of-no-kind", "count-too-high",
        "count-too-low", "page-with-a-byte-more", "page-flag-of-2", "pages-empty-without-end",
        "pages-of-many-lists", "identities-without-end", "certificates-of-a-gigabyte", "login-of-no-mode",
        "ticket-of-15-bytes", "version-of-the-past", "features-missing", "status-cut",
    ]

    private static let guards = [
        "secret_lifetimes", "other_slots", "slot_lists", "secret_values", "wiped_secrets", "logins",
        "hidden_keys", "lengths", "continued", "parameters", "saved_states", "log", "changing_lists",
        "meanwhile", "connections",
    ]

    private static let calls = [
        "initialization", "templates", "read_only", "users", "digests", "signatures", "token_flags", "lists",
        "refusals", "values", "context_logins",
    ]

    private static func program(
        _ name: String, _ what: String
    ) async throws -> (status: Int32, output: String) {
        try await SecondClient.python([
            PackageFolder.path + "/scripts/hardening_rows/" + name, BuiltCommand.pkcs11Module, what,
        ])
    }

    @Test(
        "An invalid reply returns its error code, changes no caller memory and does not affect later calls",
        .timeLimit(.minutes(10)), arguments: lies)
    func lie(name: String) async throws {
        let run = try await Self.program("pkcs11_lies.py", name)
        #expect(run.status == 0, "\(run.output)")
    }

    @Test(
        "The module presents objects and errors as documented",
        .timeLimit(.minutes(10)),
        arguments: [
            "authority", "shared_key", "useless", "order", "types", "labels", "absent", "log", "garbage",
            "guessed", "other_user", "busy", "silence", "wiped", "unloading",
        ])
    func shown(what: String) async throws {
        let run = try await Self.program("pkcs11_shown.py", what)
        #expect(run.status == 0, "\(run.output)")
    }

    @Test(
        "The module enforces its own limits and the lifetimes of secrets, logins and connections",
        .timeLimit(.minutes(10)), arguments: guards)
    func enforced(name: String) async throws {
        let run = try await Self.program("pkcs11_guards.py", name)
        #expect(run.status == 0, "\(run.output)")
    }

    @Test(
        "The module rejects invalid arguments, and returns the token's flags, dates and errors",
        .timeLimit(.minutes(10)), arguments: calls)
    func called(name: String) async throws {
        let run = try await Self.program("pkcs11_calls.py", name)
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("Every case that the Python test programs list is tested")
    func complete() async throws {
        func listed(_ program: String) async throws -> [String] {
            let output = try await Self.program(program, "list").output
            return output.split(whereSeparator: \.isWhitespace).map { String($0) }
        }
        #expect(try await listed("pkcs11_lies.py") == Self.lies)
        #expect(try await listed("pkcs11_shown.py").count == 15)
        #expect(try await listed("pkcs11_guards.py") == Self.guards)
        #expect(try await listed("pkcs11_calls.py") == Self.calls)
    }
}
