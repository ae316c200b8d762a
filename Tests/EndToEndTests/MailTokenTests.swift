import CommandSupport
import Foundation
import KeyShareConsumerCommand
import KeyShareProviderCommand
import TestSupport
import Testing

@Suite("Mail with the keys of persistent tokens", .timeLimit(.minutes(10)))
struct MailTokenTests {
    private let simulation: Simulation

    init() throws { simulation = try Simulation() }

    private func path(_ name: String) -> String { simulation.scratch.path(name) }

    /// Creates token-only identities, messages for them, and the file of authorities.
    private func prepare(_ key: String, mail arguments: String...) async throws -> [TestMailDocument.Message]
    {
        try await PreparedDevices.create(
            [
                [
                    "provision", "--person", "EXAMPLE.DANA.1234567890", "--types", "encryption,signature",
                    "--generations", "2", "--key", key,
                ], ["token", "add", "--all"],
            ], for: simulation)
        #expect(try await simulation.provider("trust", "-o", path("ca.pem")).status == 0)
        let run = try await simulation.provider(["mail", "-o", path("mail"), "--json"] + arguments)
        return try run.document(TestMailDocument.self).messages
    }

    private func decrypt(_ arguments: String...) async throws -> (
        status: Int32, messages: [DecryptionDocument.Message]
    ) {
        let run = try await simulation.consumer(["decrypt", "--token", "--json"] + arguments)
        return (run.status, try run.document(DecryptionDocument.self).messages)
    }

    @Test(
        "A token's keys decrypt every message without an import, for any key, padding and cipher",
        arguments: [("rsa2048", ""), ("rsa3072", "oaep"), ("p256", ""), ("p384", "")])
    func opens(key: String, padding: String) async throws {
        let options = padding.isEmpty ? [] : ["--rsa", padding]
        let expected = try await {
            try await options.isEmpty ? prepare(key) : prepare(key, mail: options[0], options[1])
        }()
        try await simulation.serve()
        let (status, messages) = try await decrypt(path("mail"), "-o", path("opened"))
        #expect(status == 0)
        for message in expected {
            let row = try #require(messages.first { $0.file == message.file })
            #expect(row.status == .opened && row.body == message.body, "\(row.error?.message ?? "")")
            #expect(row.label.map { message.recipients.contains($0) } ?? message.recipients.isEmpty)
            #expect(row.tokenID == row.label.map { "red.hound.keyshare.provider.token:" + $0 })
            #expect(row.signers.map(\.label) == [message.signer].compactMap(\.self))
            #expect(
                try simulation.scratch.read("opened/\(message.file)").isEmpty == false)
        }
        #expect(try await simulation.held().isEmpty)
        let mail = try #require(expected.first { $0.recipients.count == 1 })
        let single = try await simulation.consumer("decrypt", "--token", path("mail/" + mail.file))
        #expect(single.status == 0)
        #expect(single.errors.contains("opened by the token\u{2019}s key \(mail.recipients[0])\n"))
        #expect(try await simulation.consumer("decrypt", path("mail/" + mail.file)).status == 9)
    }

    @Test("openssl cms verifies signatures of a token's key", arguments: ["rsa2048", "p256", "p384"])
    func signs(key: String) async throws {
        _ = try await prepare(key)
        try await simulation.serve()
        let letter = try simulation.write("Gr\u{FC}\u{DF}e\n", as: "letter.txt")
        let run = try await simulation.consumer("sign", "--token", letter, "-o", path("a.eml"), "--json")
        #expect(run.status == 0, "\(run.errors)")
        let document = try run.document(SignatureDocument.self)
        #expect(document.signer.type == "signature")
        #expect(document.tokenID == "red.hound.keyshare.provider.token:" + document.signer.label)
        // Also sign with an older identity, named by its label. The default is the newest.
        let tokens = try await simulation.consumer("token", "list", "--json").document(TokensDocument.self)
            .tokens
        let signing = tokens.filter(\.canSign).sorted { $0.identity.notBefore > $1.identity.notBefore }
        #expect(signing.map(\.objectID).first == document.signer.label)
        let older = try #require(signing.last).objectID
        let again = try await simulation.consumer(
            "sign", "--token", "--label", String(older.prefix(12)), letter, "-o", path("b.eml"))
        #expect(again.status == 0 && again.errors.contains("with the token\u{2019}s key \(older)"))
        // The certificate of the older identity has expired in the meantime.
        for (file, option) in [("a.eml", ""), ("b.eml", "-no_check_time")] {
            let verified = try await TerminalRun.run(
                "openssl cms -verify \(option) -in \(file) -CAfile ca.pem -out content && cat content",
                columns: 200,
                in: simulation.scratch.path, environment: ["TERM": "dumb"])
            #expect(verified.status == 0, "\(verified.lines)")
            #expect(verified.lines.contains { $0.contains("Gr=C3=BC=C3=9Fe") })
        }
        let (status, messages) = try await decrypt(path("a.eml"))
        #expect(status == 0 && messages[0].signers.map(\.label) == [document.signer.label])
        #expect(messages[0].tokenID == nil)
        let imported = try await simulation.consumer("sign", letter, "-o", path("c.eml"))
        #expect(imported.status == 9 && !FileManager.default.fileExists(atPath: path("c.eml")))
    }

    @Test("A token's key that may not decrypt makes the message fail without asking the token")
    func signatureKey() async throws {
        _ = try await prepare("rsa2048")
        try await simulation.serve()
        let letter = try simulation.write("a letter\n", as: "letter.txt")
        try await simulation.consumer("sign", "--token", letter, "-o", path("signed.eml"))
        try simulation.scratch.shell(
            """
            openssl cms -verify -in signed.eml -noverify -signer signer.pem -out letter
            openssl cms -encrypt -aes256 -in letter -out encrypted.eml signer.pem
            """)
        let opened = try await simulation.consumer("decrypt", "--token", path("encrypted.eml"), "--json")
        #expect(opened.status == 7)
        #expect(try opened.errorCode() == "wrong-usage")
        #expect(opened.errors.contains("does not allow decryption"), "\(opened.errors)")
    }

    @Test(
        "Errors of the token have the same codes and hints as in token sign, and no file is written"
    )
    func refusals() async throws {
        let expected = try await prepare("p256")
        let mail = path("mail/" + expected[0].file)
        let letter = try simulation.write("a letter\n", as: "letter.txt")
        let output = path("out")
        func both(_ status: Int32, _ code: String, _ hint: String, _ more: String...) async throws {
            for arguments in [["decrypt", mail], ["sign", letter]] {
                let run = try await simulation.consumer(
                    arguments + ["--token", "-o", output, "--json"] + more)
                #expect(run.status == status, "\(arguments[0]): \(run.errors)")
                #expect(try run.errorCode() == code)
                #expect(run.errors.contains(hint), "\(run.errors)")
                #expect(!FileManager.default.fileExists(atPath: output))
            }
        }
        try await both(8, "provider-not-running", "keyshare-provider serve")
        try await simulation.serve()
        try await simulation.device("lock")
        try await both(10, "device-locked", "(TKErrorCodeAuthenticationNeeded -9, errSecInternal -26276)")
        try await both(10, "device-locked", "hint: unlock the device: keyshare-device unlock")
        try await simulation.device("unlock")
        try await simulation.device("presence", "deny")
        try await both(10, "user-denied", "hint: to consent as the user: keyshare-device presence allow")
        try await simulation.device("presence", "cancel")
        try await both(10, "user-canceled", "TKErrorCodeCanceledByUser -4, errSecUserCanceled -128")
        try await simulation.device("presence", "allow")
        let plist = try simulation.write("<plist version=\"1.0\"><dict/></plist>", as: "app.plist")
        try await both(10, "not-entitled", "com.apple.token", "--entitlements", plist)
        let encryption = try #require(expected[0].recipients.first)
        let refused = try await simulation.consumer(
            "sign", "--token", "--label", encryption, letter, "-o", output, "--json")
        #expect(refused.status == 64)
        #expect(try refused.errorCode() == "usage-forbids")
        let stranger = try await simulation.consumer(
            "decrypt", "--token", mail, "--label", "00FF", "-o", output)
        #expect(stranger.status == 9)
        try await simulation.device("passcode", "remove", "--yes")
        try await both(9, "passcode-removed", "set a passcode, then register the identity again")
    }

    @Test("A message that no token can decrypt is reported, and the command in the hint registers the key")
    func missing() async throws {
        let expected = try await prepare("p256")
        try await simulation.serve()
        let encryption = expected.filter { $0.recipients.count == 1 && $0.signer == nil }
        #expect(encryption.count == 2)
        try await simulation.provider("token", "remove", encryption[1].recipients[0], "--yes")
        let mail = path("mail/" + encryption[1].file)
        let run = try await simulation.consumer("decrypt", "--token", mail)
        #expect(run.status == 9 && run.errors.contains("which no token has"))
        let table = try await simulation.consumer("decrypt", "--token", path("mail"))
        #expect(table.status == 9 && table.errors.contains("1 message needs a key that no token has"))
        let hint = try #require(
            run.errors.split(separator: "\n").first { $0.hasPrefix("hint: register it: keyshare-provider ") })
        #expect(table.errors.contains(hint))
        let words = hint.split(separator: " ").dropFirst(4).map(String.init)
        #expect(try await simulation.provider(words).status == 0)
        #expect(try await decrypt(path("mail")).status == 0)
    }

    @Test(
        "An altered message is reported as altered, and a message that the token signed incorrectly is not written"
    )
    func altered() async throws {
        let expected = try await prepare("rsa2048", mail: "--cipher", "aes256-gcm", "--rsa", "pkcs1")
        try await simulation.serve()
        let bytes = try simulation.scratch.read("mail/\(expected[0].file)")
        let body = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n\r\n")
        var message = [UInt8](try #require(Data(base64Encoded: body[1].replacing("\r\n", with: ""))))
        // The encrypted key is the longest run before the content; its last byte affects only the padding.
        let key = try #require(
            message.indices.first { message[$0...].starts(with: [0x04, 0x82, 0x01, 0x00]) })
        var codes: [String?] = []
        for place in [key + 100, message.count - 1] {
            message[place] ^= 1
            let file = try simulation.scratch.write(message, as: "altered.p7m")
            message[place] ^= 1
            let run = try await simulation.consumer("decrypt", "--token", file, "-o", path("out"), "--json")
            #expect(run.status == 7)
            codes.append(try run.errorCode())
        }
        #expect(codes == ["altered", "altered"])
        #expect(!FileManager.default.fileExists(atPath: path("out")))
        try await simulation.stopServing()
        try await simulation.serve("--token-fault", "wrong-signature")
        let letter = try simulation.write("a letter\n", as: "letter.txt")
        let run = try await simulation.consumer("sign", "--token", letter, "-o", path("out"))
        #expect(run.status == 7 && run.errors.contains("does not verify with the public key"))
        #expect(!FileManager.default.fileExists(atPath: path("out")))
    }

    @Test("A token that emulates the sample's token decrypts and signs with RSA, and hides the user's answer")
    func likeTheSample() async throws {
        let expected = try await prepare("rsa2048", mail: "--rsa", "oaep")
        try await simulation.serve("--like-the-sample")
        #expect(try await decrypt(path("mail")).status == 0)
        let letter = try simulation.write("a letter\n", as: "letter.txt")
        #expect(try await simulation.consumer("sign", "--token", letter, "-o", path("a.eml")).status == 0)
        try await simulation.device("presence", "deny")
        try await simulation.device("lock")
        try await simulation.device("unlock")
        let run = try await simulation.consumer(
            "decrypt", "--token", path("mail/" + expected[0].file), "--json")
        #expect(try run.status == 9 && run.errorCode() == "object-not-found")
        #expect(run.errors.contains("hidden reason: the user declined"))
    }
}
