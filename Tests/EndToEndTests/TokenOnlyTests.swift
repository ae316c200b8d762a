import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite("Identities that are tokens alone, by the commands")
struct TokenOnlyTests {
    private let simulation: Simulation

    init() throws {
        simulation = try Simulation()
    }

    private func provision(_ more: String...) async throws -> CommandRun {
        try await simulation.provider(
            [
                "provision", "--person", "EXAMPLE.DANA.1234567890", "--generations", "1", "--key", "p256",
                "--at",
                "2026-03-02T12:00:00Z",
            ] + more)
    }

    private func tokens() async throws -> [TokensDocument.Token] {
        try await simulation.provider("token", "list", "--json").document(TokensDocument.self).tokens
    }

    @Test(
        "Key sharing lists, explains and hands over nothing of them; export ends with 10 and errSecUnimplemented"
    )
    func unlisted() async throws {
        #expect(try await provision("--token-only", "--types", "signature").status == 0)
        #expect(try await provision("--types", "encryption").status == 0)
        let token = try #require(try await tokens().first)
        #expect(token.tokenOnly == true && token.keyPresent)
        let list = try await simulation.provider("list")
        #expect(
            list.errors == "1 identity is a token alone, and not listed here: keyshare-provider token list\n")
        #expect(try await simulation.items().filter { $0.identity?.label == token.objectID }.isEmpty)
        let show = try await simulation.provider("show", token.objectID, "--json")
        let shown = try show.document(HeldIdentityDocument.self)
        #expect(shown.tokenID == token.tokenID && shown.tokenOnly == true)
        #expect(shown.accessGroup == "PRVD000001.red.hound.keyshare.token")
        let text = try await simulation.provider("show", token.objectID).text
        #expect(text.contains("never lists it: the key is used, and not handed over"))

        for arguments in [[token.objectID], [String(token.objectID.prefix(12)), "-o", "x"]] {
            let export = try await simulation.provider(["export"] + arguments + ["--json"])
            #expect(export.status == 10)
            #expect(try export.errorCode() == "not-implemented")
            #expect(export.errors.contains("errSecUnimplemented -4"))
        }
        try await simulation.serve()
        let browse = try await simulation.consumer("browse", "--json")
        #expect(browse.status == 0 && !browse.text.contains(token.objectID))
        for command in ["explain", "import"] {
            #expect(try await simulation.consumer(command, token.objectID).status == 9)
        }
        let letter = try simulation.write("a letter\n", as: "letter.txt")
        let sign = try await simulation.consumer("token", "sign", letter, "--json")
        #expect(sign.status == 0)
        #expect(try await simulation.provider("revoke", token.objectID).status == 0)
    }

    @Test("Where all identities are tokens alone, nothing is exported, and nobody is found missing")
    func nothingElse() async throws {
        #expect(try await provision("--token-only").status == 0)
        for arguments in [["--all"], ["--person", "Dana"], ["--for", "key-share-provider"]] {
            let run = try await simulation.provider(
                ["export", "-o", simulation.scratch.path("out")] + arguments)
            #expect(run.status == 10 || run.status == 64, "\(arguments): \(run.errors)")
        }
        #expect(
            try await simulation.provider("export", "--all", "-o", "x").errors.contains(
                "errSecUnimplemented -4"))
        #expect(try await simulation.provider("list", "--person", "Dana").status == 0)
        #expect(try await provision("--token-only").errors.contains("3 were there already"))
        #expect(try await simulation.provider("provision", "--renew", "--at", "2027-03-02").status == 0)
        #expect(try await tokens().filter { $0.tokenOnly == true }.count == 6)
        #expect(try await simulation.provider("check").status == 0)
    }

    @Test("Removing a token that is nowhere else asks first")
    func removal() async throws {
        #expect(try await provision("--token-only", "--types", "signature").status == 0)
        let label = try #require(try await tokens().first).objectID
        #expect(try await simulation.provider("token", "remove", label).status == 10)
        #expect(try await simulation.provider("token", "remove", "--all").status == 10)
        #expect(try await tokens().count == 1)
        #expect(try await simulation.provider("token", "remove", label, "--yes").status == 0)
        #expect(try await tokens().isEmpty)
    }

    @Test("A file is imported as a token alone, unless key sharing publishes it already")
    func imported() async throws {
        let secret = try simulation.write("secret", as: "secret.txt")
        let file = simulation.scratch.path("signature.p12")
        #expect(try await provision("--types", "signature").status == 0)
        let label = try #require(try await simulation.items().first { $0.kind == "pkcs12" }?.identity?.label)
        #expect(
            try await simulation.provider("export", label, "--password-file", secret, "-o", file).status == 0)
        func add() async throws -> CommandRun {
            try await simulation.provider(
                "import", file, "--token-only", "--password-file", secret, "--json")
        }
        let refused = try await add()
        #expect(refused.status == 10 && refused.errors.contains("publishes the identity already"))
        #expect(try await simulation.provider("clear", "--yes").status == 0)
        #expect(try await add().statuses() == [.imported])
        #expect(try await add().statuses() == [.duplicate])
        #expect(try await tokens().map(\.tokenOnly) == [true])
        #expect(try await simulation.items().filter { $0.kind == "pkcs12" }.isEmpty)
        #expect(try await simulation.device("lock").status == 0)
        #expect(try await provision("--token-only", "--new").status == 10)
    }

    @Test("Show and verify of the consumer know the identities of tokens, as a search without a group does")
    func consumer() async throws {
        #expect(try await provision("--token-only").status == 0)
        let anchor = simulation.scratch.path("test-ca.pem")
        #expect(try await simulation.provider("trust", "-o", anchor).status == 0)
        let label = try #require(try await tokens().first).objectID
        #expect(try await simulation.consumer("show", label).status == 9)
        try await simulation.serve()
        let shown = try await simulation.consumer("show", String(label.prefix(16)), "--json")
            .document(HeldIdentityDocument.self)
        #expect(shown.label == label && shown.accessGroup == "com.apple.token")
        #expect(shown.tokenID?.hasSuffix(label) == true && shown.tokenOnly == nil)
        let verify = try await simulation.consumer(
            "verify", "--token", "--trust", anchor, "--at", "2026-03-03", "--json")
        let document = try verify.document(VerificationDocument.self)
        #expect(verify.status == 0 && document.results.count == 3, "\(verify.errors)")
        #expect(document.results.allSatisfy { $0.checks.first?.outcome == "pass" })
        try await simulation.device("lock")
        let locked = try await simulation.consumer(
            "verify", "--token", label, "--trust", anchor, "--at", "2026-03-03")
        #expect(locked.status == 10, "\(locked.errors)")
        try await simulation.device("unlock")
        try await simulation.stopServing()
        try await simulation.serve("--token-fault", "key-of-another-certificate")
        let other = try await simulation.consumer(
            "verify", "--token", "--trust", anchor, "--at", "2026-03-03")
        #expect(other.status == 7, "\(other.text)")
        let plist = try simulation.write("<plist version=\"1.0\"><dict/></plist>", as: "app.plist")
        #expect(try await simulation.consumer("show", label, "--entitlements", plist).status == 9)
        #expect(
            try await simulation.consumer("verify", "--token", "--trust", anchor, "--entitlements", plist)
                .status == 10)
    }

    /// What an app sees in the keychain.
    private func keychain(_ app: String) async throws -> [KeychainDocument.Item] {
        let run = try await simulation.device(["keychain", "--app", app, "--json"])
        let document = try run.document(KeychainDocument.self)
        return document.items
    }

    @Test("The device shows tokens in the view of an app that may use them, and the extension's own items")
    func deviceView() async throws {
        #expect(try await provision("--token-only", "--types", "signature").status == 0)
        let seen = try await keychain("consumer").filter { $0.accessGroup == "com.apple.token" }
        #expect(seen.map(\.class) == ["idnt"] && seen.map(\.isOpen) == [true])
        #expect(try await keychain("token").map(\.class) == ["cert", "keys"])
        #expect(try await keychain("files").filter { $0.accessGroup == "com.apple.token" }.isEmpty)
        try await simulation.device("lock")
        #expect(try await keychain("consumer").map(\.isOpen) == [false])
        #expect(try await simulation.device("apps").text.contains("com.apple.token"))
    }
}
