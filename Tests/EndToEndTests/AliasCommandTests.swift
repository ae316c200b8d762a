import CommandSupport
import DeviceSimulation
import Foundation
import KeyOperations
import KeyShareConsumerCommand
import KeyShareDeviceCommand
import KeyShareProvider
import KeySharing
import OpenSSL
import PersistentToken
import SecretMemory
import SimulatedKeychain
import TestSupport
import Testing

@Suite("Alias sharing in the commands", .timeLimit(.minutes(10)))
struct AliasCommandTests {
    private let simulation: Simulation
    private static let signing = "Purebred Digital Signature Certificate"
    private static let authentication = "Purebred PIV Authentication Certificate"

    init() async throws {
        simulation = try Simulation()
        try await PreparedDevices.create(
            [
                [
                    "provision", "--person", "EXAMPLE.DANA.1234567890", "--generations", "2", "--at",
                    "2026-03-02T12:00:00Z",
                ]
            ], for: simulation)
    }

    private func entries(_ run: CommandRun) throws -> [AliasEntriesDocument.Entry] {
        try run.document(AliasEntriesDocument.self).entries
    }

    private struct Table: Decodable {
        let columns: [String]
        let rows: [[String: String]]
    }

    private struct Choice: Decodable, Equatable {
        let alias: String?
        let chosen: Bool
        let preselected: Bool?
        let reason: String?
    }

    @Test("An app queries, chooses, signs, decrypts and verifies by alias, and grants survive restarts")
    func wholePath() async throws {
        let added = try entries(try await simulation.provider("alias", "add", "--json"))
        let names = [Self.signing, Self.authentication, "Purebred Recovered #1", "Purebred Recovered #2"]
        #expect(added.map(\.alias) == names)
        #expect(added.map(\.type) == ["Digital Signature", "PIV Authentication", "Encryption", "Encryption"])
        #expect(added[0].rule == "email-name-first" && added[0].person == "EXAMPLE.DANA.1234567890")
        try await simulation.serve()
        let query = try await simulation.consumer("alias", "query", "--columns", "type,alias", "--json")
        let table = try query.document(Table.self)
        #expect(table.columns == ["alias", "type"])
        #expect(table.rows.map { $0["alias"] } == names)

        let letter = try simulation.write("a letter\n", as: "letter.txt")
        let early = try await simulation.consumer("alias", "sign", letter, "--json")
        #expect(early.status == 10)
        #expect(try early.errorCode() == "no-key-grant")
        let at = ["--at", "2026-06-01"]
        let choice = try await simulation.consumer(["alias", "choose", "--for", "signing", "--json"] + at)
        #expect(
            try choice.document(Choice.self)
                == Choice(alias: Self.signing, chosen: true, preselected: true, reason: nil))
        func signature() async throws -> Int32 {
            try await simulation.consumer(["alias", "sign", letter, "--json"] + at).status
        }
        #expect(try await signature() == 0)
        try await simulation.stopServing()
        #expect(try await signature() == 8)
        try await simulation.serve()
        #expect(try await simulation.device("restart").status == 0)
        let locked = try await simulation.consumer(["alias", "sign", letter, "--json"] + at)
        #expect(try locked.status == 10 && locked.errorCode() == "device-locked")
        #expect(try await simulation.device("unlock").status == 0)
        #expect(try await signature() == 0)

        let status = try await simulation.device("aliases", "--json").document(AliasesDocument.self)
        #expect(status.entries.map(\.alias) == names)
        let app = try #require(status.apps.first)
        #expect(app.app == "red.hound.keyshare.consumer" && app.readAlias == "granted")
        #expect(app.keyGrants == [Self.signing])
        #expect(try await simulation.device("aliases", "--revoke", Self.signing).status == 0)
        #expect(try await signature() == 10)
        #expect(try await simulation.device("aliases", "--revoke", Self.signing).status == 9)
        #expect(
            try await simulation.device("aliases", "--permission", "allow", "--app", "nobody").status == 9)
    }

    @Test("A recipient whose key was not granted does not prevent a granted key from opening the message")
    func oneGrantedRecipient() async throws {
        #expect(try await simulation.provider("alias", "add").status == 0)
        try await simulation.serve()
        let table = try await simulation.consumer(
            "alias", "query", "--columns", "alias,certificate", "--json"
        )
        .document(Table.self)
        for number in 1...2 {
            let row = try #require(table.rows.first { $0["alias"] == "Purebred Recovered #\(number)" })
            _ = try simulation.write(try #require(row["certificate"]), as: "\(number).base64")
        }
        _ = try simulation.write("a letter\n", as: "letter.txt")
        try simulation.scratch.shell(
            """
            for number in 1 2; do base64 -d -i $number.base64 | openssl x509 -inform DER -out $number.pem; done
            openssl cms -encrypt -aes256 -in letter.txt -out 12.eml 1.pem 2.pem
            openssl cms -encrypt -aes256 -in letter.txt -out 21.eml 2.pem 1.pem
            """)
        let messages = ["12.eml", "21.eml"].map(simulation.scratch.path)
        for message in messages {
            let run = try await simulation.consumer("decrypt", "--alias", message, "--json")
            #expect(try run.status == 10 && run.errorCode() == "no-key-grant")
        }
        let choice = try await simulation.consumer(
            "alias", "choose", "--for", "decryption", "--at", "2026-06-01")
        #expect(choice.status == 0)
        for message in messages {
            let run = try await simulation.consumer("decrypt", "--alias", message)
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.text.contains("a letter"))
        }
    }

    @Test("Messages are signed and decrypted with the keys of aliases, and verify checks the keys")
    func messages() async throws {
        #expect(try await simulation.provider("alias", "add").status == 0)
        try await simulation.serve()
        let folder = simulation.scratch.path("mail")
        #expect(try await simulation.provider("mail", "-o", folder).status == 0)
        let at = ["--at", "2026-06-01"]
        let message = folder + "/all-encryption.eml"
        let missing = try await simulation.consumer("decrypt", "--alias", message, "--json")
        #expect(missing.status == 10, "\(missing.errors)")
        for purpose in ["decryption", "signing", "authentication"] {
            #expect(try await simulation.consumer(["alias", "choose", "--for", purpose] + at).status == 0)
        }
        let opened = try await simulation.consumer("decrypt", "--alias", message)
        #expect(opened.status == 0, "\(opened.errors)")
        #expect(opened.errors.contains("KeyChain\u{2019}s key"))
        let letter = try simulation.write("a letter\n", as: "letter.txt")
        let signed = simulation.scratch.path("letter.eml")
        let sign = try await simulation.consumer(["sign", "--alias", letter, "-o", signed] + at)
        #expect(sign.status == 0 && sign.errors.contains("KeyChain\u{2019}s key"), "\(sign.errors)")
        #expect(try await simulation.consumer("decrypt", signed).errors.contains("signed by EXAMPLE.DANA"))
        let anchor = simulation.scratch.path("test-ca.pem")
        #expect(try await simulation.provider("trust", "-o", anchor).status == 0)
        let verify = try await simulation.consumer(
            ["verify", "--alias", Self.signing, "Purebred Recovered #1", "--trust", anchor] + at)
        #expect(verify.status == 0, "\(verify.text)\(verify.errors)")
    }

    @Test(
        "The user selects another alias than the preselected one, by a setting or in an answer to a pending dialog"
    )
    func selection() async throws {
        #expect(try await simulation.provider("alias", "add").status == 0)
        try await simulation.serve()
        #expect(try await simulation.device("presence", "allow", "--alias", Self.authentication).status == 0)
        let other = try await simulation.consumer("alias", "choose", Self.signing, "--json")
        #expect(
            try other.document(Choice.self)
                == Choice(alias: Self.authentication, chosen: true, preselected: false, reason: nil))
        // Without a requested alias, the app does not know what the dialog preselected.
        let free = try await simulation.consumer("alias", "choose", "--json")
        #expect(
            try free.document(Choice.self)
                == Choice(alias: Self.authentication, chosen: true, preselected: nil, reason: nil))
        #expect(try await simulation.device("presence", "ask").status == 0)
        let choosing = try simulation.start(.consumer, "alias", "choose", Self.signing, "--json")
        var shown = CommandRun?.none
        while shown?.text.contains("choose-key") != true {
            shown = try await simulation.device("presence", "--json")
        }
        let pending = try #require(shown).document(PresenceDocument.self)
        #expect(pending.dialogs.map(\.preselected) == [Self.signing] && pending.dialogs[0].offered.count == 4)
        let terminal = try await simulation.device("presence")
        #expect(
            terminal.errors.contains(
                "asks for a key: 4 aliases are offered, \u{201C}\(Self.signing)\u{201D} is selected"))
        let answer = try await simulation.device(
            "presence", "answer", "yes", "--alias", "Purebred Recovered #2")
        #expect(answer.status == 0)
        #expect(try await choosing.finish().document(Choice.self).alias == "Purebred Recovered #2")
        for arguments in [
            ["deny", "--alias", "a"], ["answer", "no", "--alias", "a"], ["allow", "--alias", ""],
            ["allow", "--alias", "\u{202E}a"],
        ] {
            #expect(try await simulation.device(["presence"] + arguments).status == 64, "\(arguments)")
        }
    }

    @Test("Each refusal has the documented exit code and stable name")
    func refusals() async throws {
        #expect(try await simulation.provider("alias", "add").status == 0)
        try await simulation.serve()
        func check(_ arguments: [String], _ status: Int32, _ code: String) async throws {
            let run = try await simulation.consumer(["alias"] + arguments + ["--json"])
            #expect(try run.status == status && run.errorCode() == code, "\(arguments): \(run.errors)")
        }
        let letter = try simulation.write("a letter\n", as: "letter.txt")
        try await check(["query", "--columns", "Alias"], 64, "unknown-column")
        try await check(["choose", "Nobody"], 10, "alias-not-chosen")
        try await check(["choose", "--for", "device"], 9, "no-such-item")
        try await check(["choose", "--for", "signing", "--at", "2040-01-01"], 9, "no-such-item")
        try await check(["sign", letter, "--alias", "Nobody"], 9, "alias-not-found")
        try await check(["choose", String(repeating: "a", count: 256)], 10, "refused")
        #expect(try await simulation.device("presence", "deny").status == 0)
        try await check(["choose", Self.signing], 10, "alias-not-chosen")
        #expect(try await simulation.device("aliases", "--permission", "deny").status == 0)
        try await check(["query"], 10, "permission-denied")
        for alias in ["", String(repeating: "a", count: 256), "\u{202E}a", "a\u{7}"] {
            #expect(try await simulation.provider("alias", "rename", Self.signing, alias).status == 64)
        }
        #expect(try await simulation.provider("alias", "rename", "Nobody", "x").status == 9)
        #expect(
            try await simulation.provider("alias", "rename", Self.signing, Self.authentication).status == 10)
        #expect(try await simulation.provider("alias", "remove", "Nobody").status == 9)
    }

    @Test("A chosen alias applies to one identity, and aliases are removed together or not at all")
    func wholeSelections() async throws {
        let several = try await simulation.provider(
            "alias", "add", "--types", "signature,encryption", "--alias", "mine")
        #expect(several.status == 64, "\(several.errors)")
        #expect(several.errors.contains("--alias applies to one identity, but "))
        for alias in ["", String(repeating: "a", count: 256), "\u{202E}a", "a\u{7}"] {
            let run = try await simulation.provider("alias", "add", "--types", "signature", "--alias", alias)
            #expect(run.status == 64 && run.errors.contains("--alias must be 1 to 255 bytes long"))
        }
        #expect(try entries(try await simulation.provider("alias", "list", "--json")).isEmpty)
        let added = try entries(try await simulation.provider("alias", "add", "--json")).map(\.alias)
        #expect(added.contains(Self.signing))
        #expect(try await simulation.provider("alias", "remove", Self.signing, "Nobody").status == 9)
        let kept = try entries(try await simulation.provider("alias", "list", "--json")).map(\.alias)
        #expect(kept == added)
    }

    @Test("A watcher prints the broadcasts that it missed, and repeats the query")
    func watch() async throws {
        #expect(try await simulation.provider("alias", "add", "--types", "signature").status == 0)
        try await simulation.serve()
        for event in ["update", "recovery", "reset"] {
            #expect(try await simulation.provider("alias", "announce", event).status == 0)
        }
        let run = try await simulation.consumer("alias", "watch", "--after", "0", "--count", "5")
        #expect(run.status == 0)
        let lines = run.text.split(separator: "\n").map(String.init)
        #expect(
            lines == [
                "1  android.security.action.KEYCHAIN_CHANGED",
                "2  red.hound.purebred.broadcast.UPDATE_COMPLETED",
                "3  red.hound.purebred.broadcast.UPDATE_COMPLETED",
                "4  red.hound.purebred.broadcast.RECOVERY_COMPLETED",
                "5  red.hound.purebred.broadcast.RESET_INITIATED",
                "   \(Self.signing)  Digital Signature",
            ])
        let watcher = try simulation.start(
            .consumer, "alias", "watch", "--after", "5", "--count", "2", "--json")
        #expect(try await simulation.provider("alias", "reset").status == 0)
        let ended = try await watcher.finish()
        #expect(
            ended.status == 0 && ended.text.contains(#""action":"android.security.action.KEYCHAIN_CHANGED""#))
    }

    @Test("A renewal replaces the keys under the same aliases, except with the fault alias-renamed")
    func renewal() async throws {
        #expect(try await simulation.provider("alias", "add", "--types", "signature").status == 0)
        func renew(_ year: Int) async throws -> [AliasEntriesDocument.Entry] {
            #expect(
                try await simulation.provider("provision", "--renew", "--at", "\(year)-03-02").status == 0)
            return try entries(try await simulation.provider("alias", "list", "--json"))
        }
        let first = try entries(try await simulation.provider("alias", "list", "--json"))
        let second = try await renew(2028)
        #expect(second.map(\.alias) == [Self.signing] && second[0].label != first[0].label)
        try await simulation.serve("--alias-fault", "alias-renamed")
        #expect(try await renew(2030).map(\.alias) == [Self.signing + " (renewed)"])
        try await simulation.stopServing()
        try await simulation.serve()
        #expect(try await renew(2032).map(\.alias) == [Self.signing + " (renewed)"])
    }

    @Test("No output of any command contains a private key of an alias, and no file contains it in the clear")
    func keysRemain() async throws {
        #expect(try await simulation.provider("alias", "add", "--all").status == 0)
        let store = try ProviderStore(try Device(folder: simulation.device))
        // The secret numbers of each key: the private exponent and both primes, or the scalar.
        let secrets = try store.identities().map { identity in
            let encoded = try store.identity(identity.label).privateKey.pkcs8()
            // The last 64 bytes of an RSA key are part of its CRT coefficient, which only the private key has.
            return encoded.withTransientArray { Array($0.suffix(64)) }
        }
        let letter = try simulation.write("a letter\n", as: "letter.txt")
        try await simulation.serve("--verbose")
        let at = ["--at", "2026-06-01"]
        var output: [UInt8] = []
        for arguments in [
            ["alias", "query"], ["alias", "query", "--json"], ["alias", "choose", "--for", "signing"] + at,
            ["alias", "choose", "--for", "decryption", "--json"], ["alias", "sign", letter, "--json"] + at,
            ["sign", "--alias", letter] + at, ["verify", "--alias", "--json"] + at,
            ["alias", "watch", "--after", "0", "--count", "1", "--json"],
        ] {
            let run = try await simulation.consumer(arguments)
            output += [UInt8](run.output) + [UInt8](run.errors.utf8)
        }
        for arguments in [["alias", "list"], ["alias", "list", "--json"], ["list", "--json"]] {
            let run = try await simulation.provider(arguments)
            output += [UInt8](run.output) + [UInt8](run.errors.utf8)
        }
        for arguments in [["aliases"], ["aliases", "--json"], ["keychain", "--json"]] {
            let run = try await simulation.device(arguments)
            output += [UInt8](run.output) + [UInt8](run.errors.utf8)
        }
        output += [UInt8](try await simulation.stopServing().errors.utf8)
        let files = FileManager.default.enumerator(atPath: simulation.device)
        while let name = files?.nextObject() as? String {
            output +=
                FileManager.default.contents(atPath: simulation.device + "/" + name).map { [UInt8]($0) } ?? []
        }
        #expect(output.count > 10_000)
        let haystack = Data(output)
        let text = String(decoding: output, as: UTF8.self)
        for secret in secrets {
            #expect(haystack.range(of: Data(secret)) == nil)
            for part in [Data(secret[8..<56]), Data(secret[9..<57]), Data(secret[10..<58])] {
                #expect(!text.contains(part.base64EncodedString()))
            }
            #expect(!text.lowercased().contains(secret.map { String(format: "%02x", $0) }.joined()))
        }
    }

    @Test(
        "A client of sixty lines, written from the protocol's page, queries, chooses and signs",
        .enabled(if: SecondClient.isAvailable, "there is no python3"))
    func pythonClient() async throws {
        #expect(try await simulation.provider("alias", "add").status == 0)
        try await simulation.serve()
        let letter = try simulation.write("a letter\n", as: "letter.txt")
        let script = PackageFolder.path + "/Tests/EndToEndTests/Programs/alias_client.py"
        #expect(try String(contentsOfFile: script, encoding: .utf8).split(separator: "\n").count <= 60)
        let run = try await SecondClient.python(
            [script, simulation.device + "/provider.sock", "com.example.mail", letter])
        #expect(run.status == 0, "\(run.output)")
        let parts = run.output.split(whereSeparator: \.isWhitespace)
        let signature = try #require(parts.first.flatMap { Data(base64Encoded: String($0)) })
        let store = try ProviderStore(try Device(folder: simulation.device))
        let label = try #require(
            try entries(try await simulation.provider("alias", "list", "--json"))
                .first { $0.alias == Self.signing }
        ).label
        let certificate = try store.certificate(label)
        #expect(parts.last == "\(certificate.der.count)")
        let isValid = try certificate.publicKey.verify(
            [UInt8](signature), of: Array("a letter\n".utf8), .rsaSignaturePKCS1v15(.message, .sha256))
        #expect(isValid)
        let status = try await simulation.device("aliases", "--json").document(AliasesDocument.self)
        #expect(status.apps.first { $0.app == "com.example.mail" }?.keyGrants == [Self.signing])
    }
}
