import CommandSupport
import Foundation
import KeyShareDeviceCommand
import KeyShareProviderCommand
import TestSupport
import Testing

@Suite("Registering persistent tokens", .timeLimit(.minutes(10)))
struct TokenCommandTests {
    private let simulation: Simulation

    init() async throws {
        simulation = try Simulation()
        #expect(
            try await simulation.provider(
                "provision", "--person", "EXAMPLE.DANA.1234567890", "--generations", "1", "--key", "p256",
                "--at", "2026-03-02T12:00:00Z"
            ).status == 0)
    }

    private func tokens(_ arguments: String...) async throws -> [TokensDocument.Token] {
        let run = try await simulation.provider(["token"] + arguments + ["--json"])
        #expect(run.status == 0, "\(run.errors)")
        return try run.document(TokensDocument.self).tokens
    }

    @Test(
        "Identities can be registered by type or label, or all at once; the list shows the operations of each key"
    )
    func add() async throws {
        let signature = try #require(try await tokens("add", "--types", "signature").first)
        #expect(signature.canSign && !signature.canDecrypt && signature.keyPresent)
        #expect(signature.tokenID == "red.hound.keyshare.provider.token:" + signature.objectID)
        #expect(signature.objectID == signature.identity.label)
        #expect(signature.identity.person == "EXAMPLE.DANA.1234567890")
        #expect(signature.keyType == "EC" && signature.keyBits == 256)
        #expect(try await tokens("add", "--all").count == 3)
        #expect(
            try await tokens("add", String(signature.objectID.prefix(12)), "--rfc5280").map(\.rule) == [
                "rfc5280"
            ])
        let all = try await tokens("list")
        #expect(all.count == 3)
        #expect(all.first { $0.objectID == signature.objectID }?.rule == "rfc5280")
        // CryptoTokenKit treats key agreement as decryption.
        let encryption = try #require(all.first { $0.identity.type == "encryption" })
        #expect(encryption.canDecrypt && encryption.canDerive && !encryption.canSign)
        let table = try await simulation.provider("token", "list")
        #expect(table.text.contains("EC-256") && table.errors == "3 tokens\n")
    }

    @Test("Removing tokens keeps the identities; erasing deletes them")
    func remove() async throws {
        let labels = try await tokens("add", "--all").map(\.objectID)
        #expect(try await simulation.provider("token", "remove", labels[0]).errors == "removed 1 token\n")
        #expect(try await simulation.provider("token", "remove", labels[0]).status == 9)
        #expect(try await simulation.provider("token", "remove", "--all").errors == "removed 2 tokens\n")
        #expect(try await tokens("list").isEmpty)
        #expect(try await simulation.items("Encryption").count == 1)
        _ = try await tokens("add", "--all")
        #expect(try await simulation.provider("token", "remove", "--all", "--erase").status == 10)
        #expect(try await simulation.provider("token", "remove", "--all", "--erase", "--yes").status == 0)
        #expect(try await tokens("list").isEmpty)
        #expect(try await simulation.provider("token", "add", "--all").status == 9)
    }

    @Test("An unknown name fails with a hint to the command that lists identities or tokens")
    func unknownName() async throws {
        for (command, hint) in [
            ("add", "keyshare-provider list"), ("remove", "keyshare-provider token list"),
        ] {
            let run = try await simulation.provider("token", command, "ZZ")
            #expect(run.status == 9 && run.errors.contains(hint + "\n"), "\(run.errors)")
            #expect(!run.errors.contains("keyshare-consumer"))
        }
    }

    @Test("A locked device rejects new tokens, and removing the passcode deletes the keys of existing ones")
    func states() async throws {
        #expect(try await simulation.device("lock").status == 0)
        #expect(try await simulation.provider("token", "add", "--all").status == 10)
        #expect(try await simulation.device("unlock").status == 0)
        _ = try await tokens("add", "--types", "signature")
        #expect(try await simulation.device("passcode", "remove", "--yes").status == 0)
        #expect(try await tokens("list").map(\.keyPresent) == [false])
        #expect(try await simulation.provider("token", "list").text.contains("EC-256 (gone)"))
    }

    @Test("A command that selects no identities, or selects them in two ways, is a usage error")
    func usage() async throws {
        for arguments in [
            ["add"], ["remove"], ["add", "--all", "AB"], ["remove", "--erase", "AB"],
            ["add", "--types", "mail"],
        ] {
            #expect(try await simulation.provider(["token"] + arguments).status == 64, "\(arguments)")
        }
        #expect(try await simulation.provider("token", "add", "FFFFFFFFFFFF").status == 9)
    }

    @Test("Dump shows driver, tokens and items as the sample app does")
    func dump() async throws {
        let token = try #require(try await tokens("add", "--types", "signature").first)
        let dump = try await simulation.provider("token", "dump", "--json").document(TokenDumpDocument.self)
        #expect(dump.classID == "red.hound.keyshare.provider.token")
        #expect(dump.tokens.map(\.instanceID) == [token.objectID])
        #expect(dump.tokens[0].items.map(\.kind) == ["certificate", "key"])
        #expect(dump.tokens[0].items[1].constraints == ["sign": true])
        let text = try await simulation.provider("token", "dump").text
        #expect(text.contains("Instance ID: \(token.objectID)") && text.contains("Constraints: sign=true"))
    }

    @Test("presence sets and shows the user's answer, and rejects an answer if no prompt is open")
    func presence() async throws {
        func status(_ arguments: String...) async throws -> PresenceDocument {
            try await simulation.device(["presence"] + arguments + ["--json"]).document(PresenceDocument.self)
        }
        #expect(try await status().answer == "allow")
        #expect(try await status("deny").answer == "deny")
        #expect(try await status("ask", "--delay", "200").delayMilliseconds == 200)
        #expect(try await status().answer == "ask")
        #expect(try await simulation.device("presence", "cancel").text == "cancel\n")
        #expect(try await simulation.device("presence", "answer", "yes").status == 9)
        for arguments in [
            ["answer"], ["allow", "yes"], ["maybe"], ["allow", "--delay", "-1"], ["--delay", "5"],
        ] {
            #expect(try await simulation.device(["presence"] + arguments).status == 64, "\(arguments)")
        }
    }
}
