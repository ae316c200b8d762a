import CommandSupport
import Foundation
import KeyShareConsumerCommand
import KeyShareProviderCommand
import TestSupport
import Testing

@Suite("Verdicts about messages, end to end", .timeLimit(.minutes(10)))
struct VerifyMessageTests {
    private let simulation: Simulation

    init() async throws {
        simulation = try Simulation()
        let run = try await simulation.provider(
            "provision", "--person", "EXAMPLE.DANA.1234567890", "--types", "encryption,signature",
            "--generations", "1", "--key", "p256")
        #expect(run.status == 0, "\(run.errors)")
        #expect(try await simulation.provider("mail", "-o", simulation.scratch.path("mail")).status == 0)
        #expect(
            try await simulation.provider("trust", "-o", simulation.scratch.path("trust.pem")).status == 0)
    }

    private func verify(_ arguments: String...) async throws -> CommandRun {
        try await simulation.consumer(
            ["verify", "--trust", simulation.scratch.path("trust.pem"), "--message"] + arguments)
    }

    private func verdicts(_ run: CommandRun) throws -> [MessageVerdictDocument] {
        try run.document(VerificationDocument.self).messages ?? []
    }

    @Test("Verify judges a folder of messages with the keys of the keychain, and only signed ones are valid")
    func folder() async throws {
        try await simulation.serve()
        let mail = simulation.scratch.path("mail")
        // Without a key, a signature inside an encryption cannot be verified.
        let signedAndEncrypted = mail + "/signed-and-encrypted.eml"
        #expect(try await verify(signedAndEncrypted).status == 9)
        let imported = try await simulation.consumer("import", "All.zip", "--uti", "purebred2025.zip.all")
        #expect(imported.status == 0, "\(imported.errors)")
        let run = try await verify(mail, "--json")
        #expect(run.status == 7)
        let messages = try verdicts(run)
        #expect(messages.count == 4)
        for message in messages {
            let isSigned = !message.parts.flatMap(\.signers).isEmpty
            #expect(message.valid == isSigned && message.complete == isSigned, "\(message.file)")
            #expect(message.parts.first?.body != nil)
        }
        let one = try await verify(signedAndEncrypted, "--explain")
        #expect(one.status == 0 && one.text.contains("sender: pass") && one.text.contains("valid path"))
        #expect(one.text.contains("ok") && !one.text.contains("partly protected"))
    }

    @Test("A signer whose certificate is not in the message is looked up in --untrusted")
    func untrustedSigner() async throws {
        try simulation.scratch.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem \
              -subj /CN=Authority -days 30 -addext keyUsage=critical,keyCertSign
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout leaf.key -out leaf.csr -subj /CN=Dana
            printf '%s\n' keyUsage=critical,digitalSignature extendedKeyUsage=emailProtection \
              subjectAltName=email:dana@mail.example > extensions
            openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -set_serial 7 -days 30 -extfile extensions \
              -out leaf.pem
            printf 'hello' | openssl cms -sign -text -nocerts -signer leaf.pem -inkey leaf.key \
              -from dana@mail.example -subject x -out message.eml
            """)
        let scratch = simulation.scratch
        let arguments = [
            "verify", "--trust", scratch.path("ca.pem"), "--message", scratch.path("message.eml"),
        ]
        let missing = try await simulation.consumer(arguments)
        #expect(
            missing.status == 7 && missing.errors.contains("add it with --untrusted"), "\(missing.errors)")
        let found = try await simulation.consumer(arguments + ["--untrusted", scratch.path("leaf.pem")])
        #expect(found.status == 0, "\(found.errors) \(found.text)")
    }

    @Test("Messages for a password are decrypted and judged with the password options")
    func passwords() async throws {
        let scratch = simulation.scratch
        try scratch.shell(
            """
            printf 'hello' | openssl cms -encrypt -binary -aes-256-cbc -pwri_password 'A secret' -from dana@mail.example \
              -out message.eml
            printf 'A secret\n' > secret.txt
            printf 'Another\n' > other.txt
            """)
        let message = scratch.path("message.eml")
        let opened = try await simulation.consumer(
            "decrypt", message, "--password-file", scratch.path("secret.txt"))
        #expect(opened.status == 0 && opened.text == "hello", "\(opened.errors)")
        #expect(opened.errors.contains("opened by the password"))
        let wrong = try await simulation.consumer(
            "decrypt", message, "--password-file", scratch.path("other.txt"))
        #expect(wrong.status == 3 && wrong.errors.contains("the password does not open the message"))
        let missing = try await simulation.consumer("decrypt", message)
        #expect(missing.status == 9 && missing.errors.contains("needs a password"), "\(missing.errors)")
        #expect(missing.errors.contains("hint: pass it with --password-file"))
        let judged = try await verify(message, "--password-file", scratch.path("secret.txt"), "--json")
        let encryption = try #require(try verdicts(judged).first?.parts.first?.encryption.first)
        #expect(encryption.cipher == "aes256-cbc" && encryption.label == nil)
    }

    @Test("A message from another address fails, and a footer is listed as not protected")
    func changed() async throws {
        let name = try #require(
            try simulation.scratch.names(simulation.scratch.path("mail")).first { $0.hasPrefix("signature_") }
        )
        let text = String(decoding: try simulation.scratch.read("mail/\(name)"), as: UTF8.self)
        let from = try #require(text.components(separatedBy: "\r\n").first { $0.hasPrefix("From: ") })
        let forged = try simulation.write(
            text.replacing(from, with: "From: eve@mail.example"), as: "forged.eml")
        let run = try await verify(forged)
        #expect(
            run.status == 7 && run.errors.contains("sender: From contains eve@mail.example"), "\(run.errors)")
        let list = """
            \(from)\r
            Content-Type: multipart/mixed; boundary=list\r
            \r
            --list\r
            \(text)\r
            --list\r
            Content-Type: text/plain\r
            \r
            footer\r
            --list--\r

            """
        let footer = try await verify(try simulation.write(list, as: "list.eml"))
        #expect(footer.status == 0 && footer.text.contains("ok, partly protected"), "\(footer.errors)")
        #expect(footer.text.contains("not protected: part 2 (text/plain)"))
        let altered = try await verify(
            try simulation.write(text.replacing("Testlabor", with: "Testlaber"), as: "altered.eml"), "--json")
        #expect(altered.status == 7)
        let signer = try #require(try verdicts(altered).first?.parts.first?.signers.first)
        #expect(signer.checks.first?.outcome == "fail" && signer.path.count > 1)
    }

    @Test("verify opens encrypted messages with the keys of tokens")
    func token() async throws {
        try await simulation.serve()
        #expect(try await simulation.provider("token", "add", "--all").status == 0)
        let run = try await verify(simulation.scratch.path("mail/signed-and-encrypted.eml"), "--token")
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test("Files that are not messages are skipped in folders, and fail if named")
    func others() async throws {
        let text = try simulation.write("no mail\n", as: "text.txt")
        let run = try await verify(text, simulation.scratch.path("mail"), "--json")
        #expect(run.status == 5)
        #expect(try run.document(VerificationDocument.self).failures?.map(\.item) == [text])
        #expect(try await verify(text, "--file", text).status == 64)
    }

    @Test(
        "A file in a folder of messages is not skipped if it cannot be read",
        arguments: [
            (#"cp mail/signature*.eml "box/$(printf 'm\351moire.eml')""#, "m\u{FFFD}moire.eml"),
            ("mkfifo box/pipe.eml", "pipe.eml"), ("ln -s missing box/link.eml", "link.eml"),
        ])
    func unreadableFiles(command: String, name: String) async throws {
        let box = simulation.scratch.path("box")
        try simulation.scratch.shell("mkdir box; cp mail/signature*.eml box; \(command)")
        let run = try await verify(box, "--json")
        #expect(run.status == 74 && run.errors.contains(name), "\(run.errors)")
        #expect(try run.document(VerificationDocument.self).failures?.map(\.item) == [name])
        #expect(try verdicts(run).allSatisfy(\.valid))
        let opened = try await simulation.consumer("decrypt", box, "--json")
        #expect(opened.status == 74 && opened.errors.contains(name), "\(opened.errors)")
    }

    @Test("Skipped files are reported, and a folder without a message is an error")
    func skippedFiles() async throws {
        let box = simulation.scratch.path("box")
        try simulation.scratch.shell(
            "mkdir box; cp mail/signature*.eml box; (printf ' \\n'; cat box/signature*.eml) > box/blank.eml")
        let run = try await verify(box)
        #expect(run.status == 0 && run.errors.contains("skipped 1 file"), "\(run.errors)")
        #expect(run.errors.contains(box + "/blank.eml"))
        let document = try await verify(box, "--json").document(VerificationDocument.self)
        #expect(document.skipped?.map(\.file) == [box + "/blank.eml"])
        try simulation.scratch.shell("rm box/signature*.eml")
        let none = try await verify(box)
        #expect(
            none.status == 9 && none.errors.contains("no message was found; skipped 1 file"), "\(none.errors)"
        )
    }
}
