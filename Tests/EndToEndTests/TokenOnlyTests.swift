import CommandSupport
import Foundation
import KeyShareConsumerCommand
import KeyShareDeviceCommand
import KeyShareProviderCommand
import TestSupport
import Testing

@Suite("Token-only identities in the commands", .timeLimit(.minutes(10)))
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
        "Key sharing never lists or transfers token-only identities, and their export exits with 10"
    )
    func unlisted() async throws {
        #expect(try await provision("--token-only", "--types", "signature").status == 0)
        #expect(try await provision("--types", "encryption").status == 0)
        let token = try #require(try await tokens().first)
        #expect(token.tokenOnly == true && token.keyPresent)
        let list = try await simulation.provider("list")
        #expect(
            list.errors == "1 token-only identity is not listed here; see keyshare-provider token list\n")
        #expect(try await simulation.items().filter { $0.identity?.label == token.objectID }.isEmpty)
        let show = try await simulation.provider("show", token.objectID, "--json")
        let shown = try show.document(HeldIdentityDocument.self)
        #expect(shown.tokenID == token.tokenID && shown.tokenOnly == true)
        #expect(shown.accessGroup == "PRVD000001.red.hound.keyshare.token")
        let text = try await simulation.provider("show", token.objectID).text
        #expect(text.contains("never lists it: the key can be used but not exported"))

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

    @Test("A key without a key usage is listed with the reason, and the command in the hint makes it usable")
    func withoutKeyUsage() async throws {
        let file = PackageFolder.path + "/Fixtures/Files/no-key-usage.p12"
        let password = try simulation.write("Test material only", as: "password")
        let imported = try await simulation.provider(
            "import", file, "--token-only", "--password-file", password)
        #expect(imported.status == 0, "\(imported.errors)")
        let token = try #require(try await tokens().first)
        #expect(token.unusable == "no-key-usage" && token.tokenOnly == true)
        let remedy = "keyshare-provider token add --rfc5280 \(token.objectID.prefix(16))"
        #expect(imported.errors.contains(remedy))
        try await simulation.serve()
        let letter = try simulation.write("a letter\n", as: "letter.txt")
        let sign = try await simulation.consumer("token", "sign", letter)
        #expect(sign.status == 9 && sign.errors.contains(remedy), "\(sign.errors)")
        for list in [
            try await simulation.provider("token", "list"), try await simulation.consumer("token", "list"),
        ] {
            #expect(list.text.contains("none (no key usage)") && list.errors.contains(remedy))
        }
        let added = try await simulation.provider(
            "token", "add", "--rfc5280", String(token.objectID.prefix(16)), "--json")
        let usable = try #require(try added.document(TokensDocument.self).tokens.first)
        #expect(usable.unusable == nil && usable.canSign && usable.tokenOnly == true)
        #expect(try await simulation.consumer("token", "sign", letter, "-o", letter + ".sig").status == 0)
        #expect(try await !simulation.consumer("token", "list").errors.contains("rfc5280"))
    }

    @Test("Commands handle a keychain of only token-only identities, and export rejects them")
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
        #expect(try await provision("--token-only").errors.contains("3 already existed"))
        #expect(try await simulation.provider("provision", "--renew", "--at", "2027-03-02").status == 0)
        #expect(try await tokens().filter { $0.tokenOnly == true }.count == 6)
        #expect(try await simulation.provider("check").status == 0)
    }

    @Test("Backup notes the token-only identities that it omits, and restore those that it deletes")
    func backup() async throws {
        let backup = simulation.scratch.path("backup")
        #expect(try await provision("--types", "encryption").status == 0)
        let without = try await simulation.provider("backup", backup)
        #expect(without.status == 0 && !without.errors.contains("token-only"))
        #expect(try await provision("--token-only", "--types", "signature").status == 0)
        let written = try await simulation.provider("backup", backup, "--force")
        #expect(written.status == 0 && written.errors.contains("1 token-only identity is not in the backup"))
        let serial = try #require(try await tokens().first).identity.serial
        #expect(try await simulation.provider("restore", backup).status == 10)
        #expect(try await tokens().count == 1)
        let restored = try await simulation.provider("restore", backup, "--force")
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(restored.errors.contains("deleted 1 token-only identity: signature \(serial) of "))
        let again = try await simulation.provider("restore", backup, "--force")
        #expect(again.status == 0 && !again.errors.contains("token-only"))
        #expect(try await tokens().isEmpty)
    }

    @Test("Removing a token-only identity requires confirmation")
    func removal() async throws {
        #expect(try await provision("--token-only", "--types", "signature").status == 0)
        let label = try #require(try await tokens().first).objectID
        #expect(try await simulation.provider("token", "remove", label).status == 10)
        #expect(try await simulation.provider("token", "remove", "--all").status == 10)
        #expect(try await tokens().count == 1)
        #expect(try await simulation.provider("token", "remove", label, "--yes").status == 0)
        #expect(try await tokens().isEmpty)
    }

    @Test("A file is imported as a token-only identity, unless key sharing already publishes the identity")
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
        #expect(refused.status == 10 && refused.errors.contains("already publishes the identity"))
        #expect(try await simulation.provider("clear", "--yes").status == 0)
        #expect(try await add().statuses() == [.imported])
        #expect(try await add().statuses() == [.duplicate])
        #expect(try await tokens().map(\.tokenOnly) == [true])
        #expect(try await simulation.items().filter { $0.kind == "pkcs12" }.isEmpty)
        #expect(try await simulation.device("lock").status == 0)
        #expect(try await provision("--token-only", "--new").status == 10)
    }

    @Test("The consumer's show and verify find the identities of tokens")
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

    @Test(
        "Show and verify find a token's identity that is not in the keychain, or print a hint"
    )
    func withoutTheOption() async throws {
        // Of 18 labels, at least two begin with the same hexadecimal digit.
        #expect(
            try await simulation.provider(
                "provision", "--count", "6", "--generations", "1", "--key", "p256", "--token-only", "--at",
                "2026-03-02"
            ).status == 0)
        let labels = try await tokens().map(\.objectID)
        let anchor = simulation.scratch.path("test-ca.pem")
        #expect(try await simulation.provider("trust", "-o", anchor).status == 0)
        func verify(_ names: String...) async throws -> CommandRun {
            try await simulation.consumer(["verify", "--trust", anchor, "--at", "2026-03-03"] + names)
        }
        for command in [["show", labels[0]], ["verify", labels[0], "--trust", anchor]] {
            let run = try await simulation.consumer(command)
            #expect(
                run.status == 9 && run.errors.contains("those of tokens require a running provider"),
                "\(run.errors)")
        }
        try await simulation.serve()
        let verified = try await verify(String(labels[0].prefix(20)), labels[1])
        #expect(verified.status == 0 && verified.errors.contains("2 valid"), "\(verified.errors)")
        let groups = Dictionary(grouping: labels) { $0.prefix(1) }
        let digit = try #require(groups.first { $0.value.count > 1 }?.key)
        for run in [
            try await simulation.consumer("show", String(digit), "--json"),
            try await verify(String(digit), "--json"),
        ] {
            #expect(run.status == 9)
            #expect(run.errors.contains("identities have a label or serial number that starts with"))
            #expect(run.errors.contains("use a longer prefix: "))
        }
        let neither = try await verify(String(repeating: "0", count: 20))
        #expect(neither.status == 9 && neither.errors.contains("keyshare-consumer token list --all"))
        // A denied key use exits with 10. Without the entitlement, the app does not find the token.
        try await simulation.device("presence", "deny")
        #expect(try await verify(labels[2]).status == 10)
        let plist = try simulation.write("<plist version=\"1.0\"><dict/></plist>", as: "app.plist")
        #expect(try await verify(labels[0], "--entitlements", plist).status == 9)
    }

    @Test("Merging the shards of a token-only run produces the same tokens as a single run")
    func merged() async throws {
        func provider(_ device: String, _ arguments: String...) async throws -> CommandRun {
            try await RunningCommand(
                .provider, arguments + ["--device", simulation.scratch.path(device)]
            ).finish()
        }
        func tokens(_ device: String) async throws -> [TokensDocument.Token] {
            try await provider(device, "token", "list", "--json").document(TokensDocument.self).tokens
        }
        for part in ["1/2", "2/2", "1/1"] {
            let run = try await provider(
                part.replacing("/", with: "of"), "provision", "--seed", "7", "--shard", part, "--count", "3",
                "--types", "signature", "--generations", "1", "--key", "p256", "--token-only", "--at",
                "2026-01-01")
            #expect(run.status == 0, "\(run.errors)")
        }
        let parts = ["1of2", "2of2"].map { simulation.scratch.path($0) }
        let merge = try await provider("merged", "merge", parts[0], parts[1], "--json")
        #expect(try merge.document(MergeDocument.self).added == 3, "\(merge.errors)")
        #expect(try merge.document(MergeDocument.self).registered == 3)
        let whole = try await tokens("1of1")
        let together = try await tokens("merged")
        #expect(Set(together.map(\.objectID)) == Set(whole.map(\.objectID)) && whole.count == 3)
        #expect(together.allSatisfy { $0.tokenOnly == true && $0.keyPresent })
        #expect(try await provider("merged", "merge", parts[0]).errors == "added 0 identities\n")
        #expect(try await provider("merged", "check").status == 0)
        // The error names a device whose keys are locked, and nothing from that device is added.
        let lock = ["lock", "--device", parts[1]]
        #expect(try await RunningCommand(.device, lock).finish().status == 0)
        let refused = try await provider("other", "merge", parts[1])
        #expect(refused.status == 10 && refused.errors.contains("\(parts[1]): "), "\(refused.errors)")
        #expect(try await tokens("other").isEmpty)
    }

    @Test(
        "A scenario run with --token-only creates only token-only identities, even for defects"
    )
    func scenario() async throws {
        let file = try simulation.write(
            """
            description: Dana has an identity of each kind, and one that has expired.
            persons:
              - name: EXAMPLE.DANA.1234567890
                credentials:
                  - generations: 1
                    key: p256
                    types: [signature, encryption]
                  - fault: expired
                    key: p256
            """, as: "one.yaml")
        func run(_ more: String...) async throws -> CommandRun {
            try await simulation.provider(
                ["provision", "--scenario", file, "--seed", "3", "--at", "2026-01-01"] + more)
        }
        let alone = try await run("--token-only")
        #expect(alone.status == 0, "\(alone.errors)")
        #expect(try await tokens().count == 3)
        #expect(try await simulation.items().filter { $0.kind == "pkcs12" }.isEmpty)
        #expect(try await run("--token-only").errors.contains("3 already existed"))
        #expect(try await run().status == 0)
        #expect(try await simulation.items().filter { $0.kind == "pkcs12" }.count == 3)
        #expect(try await tokens().count == 3)
        #expect(try await tokens().allSatisfy { $0.tokenOnly == true })
    }

    @Test("With --token-only, --renew renews only token-only identities and keeps published ones")
    func renewedAlone() async throws {
        #expect(try await provision("--types", "encryption").status == 0)
        let nothing = try await simulation.provider(
            "provision", "--renew", "--token-only", "--at", "2027-01-01")
        #expect(nothing.status == 9)
        #expect(try await provision("--token-only", "--types", "signature").status == 0)
        #expect(
            try await simulation.provider("provision", "--renew", "--token-only", "--at", "2027-01-01").status
                == 0)
        #expect(try await tokens().map(\.identity.type) == ["signature", "signature"])
        #expect(try await simulation.items().count { $0.kind == "pkcs12" } == 1)
    }

    @Test(
        "--token-only accepts defects of certificates and keys, and rejects defects of files"
    )
    func faults() async throws {
        let anchor = simulation.scratch.path("test-ca.pem")
        let faults = ["expired", "broken-signature"]
        for fault in faults {
            let run = try await simulation.provider(
                "provision", "--fault", fault, "--token-only", "--key", "p256", "--seed", "5", "--at",
                "2026-03-02")
            #expect(run.status == 0, "\(run.errors)")
        }
        let labels = try await tokens().map(\.objectID)
        #expect(labels.count == 2)
        #expect(try await simulation.items().filter { $0.kind == "pkcs12" }.isEmpty)
        #expect(try await simulation.provider("trust", "-o", anchor).status == 0)
        try await simulation.serve()
        for label in labels {
            let run = try await simulation.consumer(
                "verify", "--token", label, "--trust", anchor, "--at", "2026-03-03")
            #expect(run.status == 7, "\(run.errors)")
        }
        let file = try await simulation.provider("provision", "--fault", "zip-slip", "--token-only", "--json")
        #expect(try file.status == 64 && file.errorCode() == "fault-of-file")
        #expect(file.errors.contains("concerns files, but a token-only identity is never exported"))
        let output = try await simulation.provider(
            "provision", "--fault", "expired", "--token-only", "-o", simulation.scratch.path("a.p12"))
        #expect(output.status == 64 && output.errors.contains("never exported"))
        #expect(try await tokens().count == 2)
    }

    /// The items of the keychain that an app sees.
    private func keychain(_ app: String) async throws -> [KeychainDocument.Item] {
        let run = try await simulation.device(["keychain", "--app", app, "--json"])
        let document = try run.document(KeychainDocument.self)
        return document.items
    }

    @Test("keychain shows tokens only for an entitled app, and the items of the token extension for it")
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
