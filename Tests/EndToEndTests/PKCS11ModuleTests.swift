import Foundation
import TestSupport
import Testing

/// Loads the built module into programs in other languages, as any client does. `scripts/hardening` and
/// `scripts/interop pkcs11` contain more tests.
@Suite(
    "The PKCS #11 module in a program that loads it",
    .enabled(if: SecondClient.isAvailable, "there is no python3"), .timeLimit(.minutes(10)))
struct PKCS11ModuleTests {
    private let simulation: Simulation

    init() async throws {
        simulation = try Simulation()
        try await PreparedDevices.create(
            [
                ["provision", "--key", "rsa2048", "--generations", "1", "--types", "signature,encryption"],
                ["token", "add", "--all"],
            ], for: simulation)
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

    @Test("Functions, attributes, operations, digests and random numbers conform to PKCS #11")
    func rules() async throws {
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature,encryption", "--edipi",
            "1000000002")
        try await simulation.provider("token", "add", "--all")
        try await simulation.serve()
        for name in ["pkcs11_rules.py", "pkcs11_software.py"] {
            let run = try await program(name, [])
            #expect(run.status == 0, "\(run.output)")
        }
    }

    @Test(
        "A program logs in with the provider's login mode",
        arguments: ["presence", "path", "pin", "path+always", "pin+always"])
    func logins(mode: String) async throws {
        try await simulation.serve(["--token-login", mode])
        let run = try await program("pkcs11_logins.py", ["logins", mode])
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("The PIN is the device's passcode, and resetting the attempt counter permits logins again")
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

    @Test("A login on the protected path prompts the user, and fails while the device is locked")
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

    @Test("With one slot for each registration, every slot has its own token, login and keys")
    func slots() async throws {
        try await simulation.serve()
        let run = try await program("pkcs11_logins.py", ["slots", "2"], ["KEYSHARE_PKCS11_SLOTS": "token"])
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("Calls with invalid arguments do not affect later signatures")
    func arguments() async throws {
        try await simulation.serve()
        let run = try await caller("arguments")
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("Attributes, copies, wrapping and derivation never reveal any part of a private key")
    func attacks() async throws {
        try await simulation.serve()
        let run = try await caller("attacks")
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("Several threads sign concurrently, and every signature verifies")
    func threads() async throws {
        try await simulation.serve()
        let run = try await caller("threads", "8", "10")
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("The module is unloaded and loaded again while threads that used it are alive")
    func unloading() async throws {
        try await simulation.serve()
        let run = try await caller("unload", "5")
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("A forked child starts with fresh module state")
    func forks() async throws {
        try await simulation.serve()
        let run = try await caller("forks", "20")
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("A locked device and a denied prompt return different values")
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

    @Test("Without a provider, the module presents a slot without a token")
    func noProvider() async throws {
        let run = try await caller("empty")
        #expect(run.status == 0, "\(run.output)")
    }

    /// Initializes the module after setting a variable to the path of `link`, in which the last character is a byte that
    /// is not UTF-8. Prints the return codes and the number of slots with a token.
    private static let invalidVariable = """
        import ctypes, os, sys
        module, name, link = sys.argv[1:]
        os.environb[name.encode()] = os.fsencode(link)[:-3] + b"\\xff"
        library, count = ctypes.CDLL(module), ctypes.c_ulong(9)
        print(library.C_Initialize(None), library.C_GetSlotList(1, None, ctypes.byref(count)), count.value)
        """

    @Test("A variable that is not UTF-8 leads to no token, even if a device with a similar path exists")
    func invalidVariables() async throws {
        try await simulation.serve()
        let link = simulation.scratch.path("dev\u{FFFD}")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: simulation.device)
        let names = [
            "KEYSHARE_DEVICE", "KEYSHARE_SOCKET", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "HOME",
            "KEYSHARE_PKCS11_LOG", "KEYSHARE_PKCS11_SLOTS", "KEYSHARE_PKCS11_TYPES", "UNRELATED",
        ]
        for name in names {
            let run = try await SecondClient.python(
                ["-c", Self.invalidVariable, BuiltCommand.pkcs11Module, name, link],
                environment: ["KEYSHARE_DEVICE": simulation.device, "KEYSHARE_PKCS11_LOG": "stderr"])
            let isRead = name != "UNRELATED"
            #expect(run.output.contains(isRead ? "0 0 0\n" : "0 0 1\n"), "\(name): \(run.output)")
            let isLogged = run.output.contains("note: the environment variable \(name) is not UTF-8")
            // Without a log, nothing can be logged.
            #expect(isLogged == (isRead && name != "KEYSHARE_PKCS11_LOG"), "\(name): \(run.output)")
        }
    }

    @Test("The module links only the C library and exports only PKCS #11 functions")
    func symbols() throws {
        let module = try Data(contentsOf: URL(fileURLWithPath: BuiltCommand.pkcs11Module))
        for library in ["libcrypto", "libssl", "libFoundation", "libswiftCore.so", "libicu"] {
            #expect(module.range(of: Data((library + ".").utf8)) == nil, "\(library)")
        }
        for library in ["libstdc++.so", "libgcc_s.so"] {
            #expect(module.range(of: Data(library.utf8)) == nil, "\(library)")
        }
    }

    @Test("The printed configuration contains the module's path in the command's folder")
    func printedLines() async throws {
        for client in [
            "ssh", "openssl", "pkcs11-provider", "curl", "nss", "firefox", "gpgsm", "java", "gnutls",
            "python",
            "p11-kit",
        ] {
            let run = try await simulation.device("pkcs11", "--for", client)
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.text.contains("libkeyshare-pkcs11.so"), "\(client)")
            let imports = run.text.contains("keyshare-provider trust")
            #expect(imports == ["nss", "firefox", "gpgsm"].contains(client), "\(client)")
            let check = "import subprocess, sys; sys.exit(subprocess.call(['sh', '-n', '-c', sys.argv[1]]))"
            let syntax = try await SecondClient.python(["-c", check, run.text])
            #expect(syntax.status == 0, "\(client): \(syntax.output)")
        }
        #expect(try await simulation.device("pkcs11", "--for", "ssh", "--module", "/nowhere.so").status == 9)
        let unknown = try await simulation.device("pkcs11", "--for", "telnet")
        #expect(unknown.status == 64)
        #expect(unknown.errors.contains("one of ssh, openssl, pkcs11-provider,"), "\(unknown.errors)")
        #expect(!unknown.errors.contains("u{A}"))
    }
}
