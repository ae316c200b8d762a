import Foundation
import TestSupport
import Testing

/// The built module, loaded by programs of other languages as every client loads it. `scripts/hardening` and
/// `scripts/interop pkcs11` go on where these tests end.
@Suite(
    "The PKCS #11 module in a program that loads it",
    .enabled(if: SecondClient.isAvailable, "there is no python3"))
struct PKCS11ModuleTests {
    private let simulation: Simulation

    init() async throws {
        simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "rsa2048", "--generations", "1", "--types", "signature,encryption")
        #expect(try await simulation.provider("token", "add", "--all").status == 0)
    }

    /// Runs a program that has loaded the module.
    private func caller(_ what: String...) async throws -> (status: Int32, output: String) {
        try await SecondClient.python(
            [PackageFolder.path + "/scripts/hardening_rows/pkcs11_caller.py", BuiltCommand.pkcs11Module]
                + what,
            environment: ["KEYSHARE_DEVICE": simulation.device])
    }

    @Test("Every argument may be wrong, and signatures verify afterwards")
    func arguments() async throws {
        try await simulation.serve()
        let run = try await caller("arguments")
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("No attribute, copy, wrapping or derivation gives a part of a private key")
    func attacks() async throws {
        try await simulation.serve()
        let run = try await caller("attacks")
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("A few threads sign at once, and every signature verifies")
    func threads() async throws {
        try await simulation.serve()
        let run = try await caller("threads", "8", "10")
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("A child that was forked off begins with a state of its own")
    func forks() async throws {
        try await simulation.serve()
        let run = try await caller("forks", "20")
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("A device that is locked and a user who says no are told apart")
    func refusals() async throws {
        try await simulation.serve()
        #expect(try await caller("signing", "0").status == 0)
        try await simulation.device("lock")
        // CKR_DEVICE_ERROR, CKR_FUNCTION_REJECTED
        let locked = try await caller("signing", "0x30")
        #expect(locked.status == 0, "\(locked.output)")
        try await simulation.device("unlock")
        try await simulation.device("presence", "deny")
        let denied = try await caller("signing", "0x200")
        #expect(denied.status == 0, "\(denied.output)")
    }

    @Test("Without a provider there is a slot without a token")
    func noProvider() async throws {
        let run = try await caller("empty")
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("The module needs the C library alone, and shows the standard's functions alone")
    func symbols() throws {
        let module = try Data(contentsOf: URL(fileURLWithPath: BuiltCommand.pkcs11Module))
        for library in ["libcrypto", "libssl", "libFoundation", "libswiftCore.so", "libicu"] {
            #expect(module.range(of: Data((library + ".").utf8)) == nil, "\(library)")
        }
    }

    @Test("The printed lines name the module beside the command")
    func printedLines() async throws {
        for client in ["ssh", "openssl", "curl", "nss", "java", "gnutls", "p11-kit"] {
            let run = try await simulation.device("pkcs11", "--for", client)
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.text.contains("libkeyshare-pkcs11.so"), "\(client)")
        }
        #expect(try await simulation.device("pkcs11", "--for", "ssh", "--module", "/nowhere.so").status == 9)
        #expect(try await simulation.device("pkcs11", "--for", "telnet").status == 64)
    }
}
