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
        try await program("pkcs11_caller.py", what)
    }

    private func program(
        _ name: String, _ what: [String], _ variables: [String: String] = [:]
    ) async throws -> (status: Int32, output: String) {
        try await SecondClient.python(
            [PackageFolder.path + "/scripts/hardening_rows/" + name, BuiltCommand.pkcs11Module] + what,
            environment: variables.merging(["KEYSHARE_DEVICE": simulation.device]) { $1 })
    }

    @Test("Functions, sizes, searches, attributes and operations are as the text of PKCS #11 has them")
    func rules() async throws {
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature,encryption", "--edipi",
            "1000000002")
        try await simulation.provider("token", "add", "--all")
        try await simulation.serve()
        let run = try await program("pkcs11_rules.py", [])
        #expect(run.status == 0, "\(run.output)")
    }

    @Test(
        "A program logs in as the provider says",
        arguments: ["presence", "path", "pin", "path+always", "pin+always"])
    func logins(mode: String) async throws {
        try await simulation.serve(["--token-login", mode])
        let run = try await program("pkcs11_logins.py", ["logins", mode])
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("The PIN is the passcode of the device, and tries come back when they are reset")
    func passcode() async throws {
        try await simulation.serve(["--token-login", "pin"])
        let scratch = try ScratchFolder()
        let file = try scratch.write(Array("4711\n".utf8), as: "passcode")
        #expect(try await simulation.device("passcode", "set", "--password-file", file).status == 0)
        // CKR_PIN_INCORRECT, CKR_PIN_LOCKED
        for (pin, code) in [
            ("123456", "0xa0"), ("4711", "0"), ("1", "0xa0"), ("1", "0xa0"), ("1", "0xa4"), ("4711", "0xa4"),
        ] {
            let run = try await program("pkcs11_logins.py", ["login", code, pin])
            #expect(run.status == 0, "\(pin): \(run.output)")
        }
        #expect(try await simulation.device("passcode", "reset-tries").status == 0)
        #expect(try await program("pkcs11_logins.py", ["login", "0", "4711"]).status == 0)
    }

    @Test("A login on the protected path asks the user, and is refused while the device is locked")
    func protectedPath() async throws {
        try await simulation.serve(["--token-login", "path"])
        #expect(try await program("pkcs11_logins.py", ["login", "0"]).status == 0)
        try await simulation.device("presence", "deny")
        // CKR_FUNCTION_REJECTED
        #expect(try await program("pkcs11_logins.py", ["login", "0x200"]).status == 0)
        try await simulation.device("presence", "allow")
        try await simulation.device("lock")
        #expect(try await program("pkcs11_logins.py", ["login", "0x200"]).status == 0)
    }

    @Test("With a slot for each registration, each has its own token, login and keys")
    func slots() async throws {
        try await simulation.serve()
        let run = try await program("pkcs11_logins.py", ["slots", "2"], ["KEYSHARE_PKCS11_SLOTS": "token"])
        #expect(run.status == 0, "\(run.output)")
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

    @Test("The module is unloaded and loaded anew while threads live that have used it")
    func unloading() async throws {
        try await simulation.serve()
        let run = try await caller("unload", "5")
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
        for library in ["libstdc++.so", "libgcc_s.so"] {
            #expect(module.range(of: Data(library.utf8)) == nil, "\(library)")
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
