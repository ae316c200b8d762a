import CommandSupport
import Foundation
import KeyShareConsumerCommand
import KeyShareProviderCommand
import OpenSSL
import StandardExtensions
import TestSupport
import Testing

@Suite("Messages that prove which keys were imported", .timeLimit(.minutes(10)))
struct MailTests {
    private let simulation: Simulation

    init() async throws {
        simulation = try Simulation()
        try await PreparedDevices.create(
            [
                [
                    "provision", "--person", "EXAMPLE.DANA.1234567890", "--types", "encryption,signature",
                    "--generations", "2", "--at", "2026-03-02T12:00:00Z",
                ]
            ], for: simulation)
    }

    /// Writes messages with the provider, and returns the expected results.
    @discardableResult
    private func mail(_ arguments: String...) async throws -> [TestMailDocument.Message] {
        let run = try await simulation.provider(["mail", "-o", folder, "--json"] + arguments)
        #expect(run.status == 0, "\(run.errors)")
        return try run.document(TestMailDocument.self).messages
    }

    private var folder: String { simulation.scratch.path("mail") }

    private func decrypt(_ arguments: String...) async throws -> (
        status: Int32, messages: [DecryptionDocument.Message]
    ) {
        let run = try await simulation.consumer(["decrypt", "--json"] + arguments)
        return (run.status, try run.document(DecryptionDocument.self).messages)
    }

    /// Imports every identity of the provider into the consumer.
    private func importAll() async throws {
        try await simulation.serve()
        let run = try await simulation.consumer("import", "All.zip", "--uti", "purebred2025.zip.all")
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test("expected.json names the keys for each message, and each identity and purpose has a message")
    func expectations() async throws {
        let messages = try await mail()
        #expect(messages.count == 6)
        let encrypted = messages.filter { !$0.recipients.isEmpty }
        #expect(encrypted.map(\.recipients.count).sorted() == [1, 1, 1, 2])
        #expect(messages.count { $0.signer != nil } == 3)
        #expect(Set(encrypted.compactMap(\.encryption)).count == 4)
        let names = try simulation.scratch.names(folder)
        let files = messages.map(\.file)
        #expect(Set(names) == Set(files + ["expected.json", "checklist.html"]))
        let written = try DocumentCoding.decode(
            TestMailDocument.self, from: Data(try simulation.scratch.read("mail/expected.json")))
        #expect(written.messages.map(\.body) == messages.map(\.body))
        for file in files {
            let text = String(decoding: try simulation.scratch.read("mail/\(file)"), as: UTF8.self)
            #expect(text.contains("\r\nSubject: =?utf-8?B?UHLDvGZ1bmc6"))
            #expect(
                text.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 76 && !$0.contains("\n") })
        }
    }

    @Test("--subset leaves out ciphers and paddings, and contradicts options that name them")
    func subsets() async throws {
        let messages = try await mail("--subset", "no-gcm", "no-oaep")
        let encrypted = messages.filter { !$0.recipients.isEmpty }
        #expect(encrypted.count == 4)
        #expect(encrypted.allSatisfy { $0.encryption == "aes256-cbc" && $0.rsa == "pkcs1" })
        let page = String(decoding: try simulation.scratch.read("mail/checklist.html"), as: UTF8.self)
        #expect(page.contains("aes256-cbc, pkcs1") && !page.contains("oaep"))
        for wrong in [["no-gcm", "--cipher", "aes128-gcm"], ["no-oaep", "--rsa", "oaep"], ["no-ecdh"]] {
            let run = try await simulation.provider(["mail", "-o", folder, "--force", "--subset"] + wrong)
            #expect(run.status == 64, "\(run.errors)")
        }
    }

    @Test("With every key, all messages open and match expected.json byte for byte")
    func everythingOpens() async throws {
        let expected = try await mail()
        try await importAll()
        let opened = simulation.scratch.path("opened")
        let (status, messages) = try await decrypt(folder, "-o", opened)
        #expect(status == 0)
        let skipped = messages.filter { $0.status == .skipped }
        #expect(skipped.map(\.file) == ["checklist.html", "expected.json"])
        for message in expected {
            let row = try #require(messages.first { $0.file == message.file })
            #expect(row.status == .opened && row.body == message.body)
            #expect(row.label.map { message.recipients.contains($0) } ?? message.recipients.isEmpty)
            #expect(row.signers.map(\.label) == [message.signer].compactMap(\.self))
            #expect(row.encryption == [message.encryption].compactMap(\.self))
            let isAuthenticated = message.signer != nil || message.encryption?.hasSuffix("gcm") == true
            #expect(row.authenticated == isAuthenticated)
            let content = try simulation.scratch.read("opened/\(message.file)")
            #expect(Digest.sha256(content).upperHex.lowercased() == message.body)
            let single = try await simulation.consumer("decrypt", folder + "/" + message.file)
            #expect(single.status == 0 && Array(single.output) == content)
            #expect(single.errors.contains("warning: not authenticated") == !isAuthenticated)
        }
        #expect(try simulation.scratch.names(opened).count == expected.count + 1)
        // A second run replaces only files of the first run, and only with --force.
        #expect(try await simulation.consumer("decrypt", folder, "-o", opened).status == 10)
        #expect(try await simulation.consumer("decrypt", folder, "-o", opened, "--force").status == 0)
    }

    @Test("--force keeps an earlier run's folder if one of its messages does not open now")
    func nothingIsLost() async throws {
        try await mail()
        try await importAll()
        let opened = simulation.scratch.path("opened")
        #expect(try await decrypt(folder, "-o", opened).status == 0)
        let names = try simulation.scratch.names(opened)
        #expect(try await simulation.consumer("clear", "--yes").status == 0)
        let (status, messages) = try await decrypt(folder, "-o", opened, "--force")
        #expect(status == 9 && messages.allSatisfy { $0.output == nil })
        #expect(try simulation.scratch.names(opened) == names)
        let run = try await simulation.consumer("decrypt", folder, "-o", opened, "--force")
        #expect(run.errors.contains("warning: the folder \(opened) is unchanged"), "\(run.errors)")
        // Decrypted content is not encrypted, so nothing would be written.
        #expect(try await simulation.consumer("decrypt", opened, "-o", opened, "--force").status == 0)
        #expect(try simulation.scratch.names(opened) == names)
        // A copied index does not allow the command to replace another folder's files.
        try FileManager.default.copyItem(atPath: opened, toPath: simulation.scratch.path("copy"))
        let copy = simulation.scratch.path("copy")
        #expect(try await simulation.consumer("decrypt", folder, "-o", copy, "--force").status == 10)
        #expect(try simulation.scratch.names(copy) == names)
    }

    @Test("--force keeps a content whose name another message would get")
    func nameOfAnother() async throws {
        let expected = try await mail()
        try await importAll()
        for (number, message) in [expected[1], expected[0]].enumerated() {
            try FileManager.default.createDirectory(
                atPath: simulation.scratch.path("in\(number)"), withIntermediateDirectories: false)
            try FileManager.default.copyItem(
                atPath: folder + "/" + message.file, toPath: simulation.scratch.path("in\(number)/x.eml"))
        }
        let files = ["in0/x.eml", "in1/x.eml"].map { simulation.scratch.path($0) }
        let opened = simulation.scratch.path("opened")
        #expect(try await simulation.consumer(["decrypt", "-o", opened] + files).status == 0)
        let content = try simulation.scratch.read("opened/x.eml")
        #expect(try await simulation.consumer("clear", "--yes").status == 0)
        let newest = try #require(expected.first?.recipients.first)
        try await simulation.consumer("import", newest, "--uti", "purebred2025.rsa.pkcs-12")
        let run = try await simulation.consumer(["decrypt", "--force", "-o", opened] + files)
        #expect(run.status == 9 && run.errors.contains("that this run did not open"), "\(run.errors)")
        #expect(try simulation.scratch.read("opened/x.eml") == content)
    }

    @Test("A missing older key affects only its own message, and the hint's command imports the key")
    func missingKey() async throws {
        let expected = try await mail()
        try await simulation.serve()
        let newest = try #require(expected.first?.recipients.first)
        let older = try #require(expected.dropFirst().first?.recipients.first)
        #expect(
            try await simulation.consumer("import", newest, "--uti", "purebred2025.rsa.pkcs-12")
                .status
                == 0)
        let (status, messages) = try await decrypt(folder)
        #expect(status == 9)
        let missing = messages.filter { $0.status == .missingKey }
        #expect(missing.map(\.file) == [expected[1].file])
        let run = try await simulation.consumer("decrypt", folder + "/" + expected[1].file)
        #expect(run.status == 9 && run.output.isEmpty)
        #expect(run.errors.contains("needs the encryption key "))
        let hint = try #require(
            run.errors.split(separator: "\n").first { $0.hasPrefix("hint: import it: ") })
        let words = hint.dropFirst("hint: import it: keyshare-consumer ".count).split(separator: " ").map(
            String.init)
        let table = try await simulation.consumer("decrypt", folder)
        #expect(table.status == 9 && table.errors.contains("1 message needs a key that was not imported"))
        #expect(table.errors.contains(hint))
        #expect(try await simulation.consumer(words).status == 0)
        #expect(try await simulation.held().map(\.label).contains(older))
        #expect(try await decrypt(folder).status == 0)
    }

    @Test("Decrypt fails on a locked device, and the error names the lock")
    func locked() async throws {
        _ = try await mail()
        try await importAll()
        try await simulation.device("lock")
        let run = try await simulation.consumer("decrypt", folder + "/all-encryption.eml", "--json")
        #expect(run.status == 10)
        #expect(try run.errorCode() == "device-locked" || run.errorCode() == "errSecInteractionNotAllowed")
    }

    @Test("Altered, truncated and foreign files have distinct exit codes and produce no output")
    func badInput() async throws {
        let expected = try await mail("--cipher", "aes256-gcm")
        try await importAll()
        let mail = try simulation.scratch.read("mail/\(expected[0].file)")
        let signed = try simulation.scratch.read("mail/\(try #require(expected.last).file)")
        let letters = mail.indices.filter { (0x41...0x5A).contains(mail[$0]) }
        // In the last 16 bytes, the authentication tag.
        let end = letters[letters.count - 3]
        var altered = mail
        altered[end] = altered[end] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let text = String(decoding: signed, as: UTF8.self)
        let cases: [(name: String, bytes: [UInt8], status: Int32, code: String)] = [
            ("altered.eml", altered, 7, "altered"),
            ("early.eml", Array(mail.prefix(mail.count / 2)), 5, "malformed"),
            ("text.txt", Array("no mail\n".utf8), 5, "no-message"), ("empty.eml", [], 5, "no-message"),
            ("plain.eml", Array("From: a@b\r\n\r\nhello\r\n".utf8), 5, "unprotected"),
            (
                "forged.eml", Array(text.replacing("Testlabor", with: "Testlaber").utf8), 7,
                "invalid-signature"
            ),
            ("headers.eml", Array(String(repeating: "X: y\r\n", count: 60_000).utf8), 10, "limit"),
        ]
        let output = simulation.scratch.path("out.txt")
        for input in cases {
            let path = try simulation.scratch.write(input.bytes, as: input.name)
            let run = try await simulation.consumer("decrypt", path, "-o", output, "--json")
            #expect(run.status == input.status, "\(input.name): \(run.errors)")
            #expect(try run.errorCode() == input.code)
            #expect(run.errors.contains("\nhint: ") || input.code == "limit")
        }
        let left = try simulation.scratch.names(simulation.scratch.path).filter {
            $0.contains("out") || $0.hasPrefix(".")
        }
        #expect(left == [])
        #expect(try await simulation.consumer("decrypt", "/nowhere/mail.eml").status == 74)
    }

    @Test("Decrypt opens the messages in a folder with other files, and lists failures")
    func mixedFolder() async throws {
        let expected = try await mail()
        try await importAll()
        let mixed = simulation.scratch.path("mixed")
        try FileManager.default.copyItem(atPath: folder, toPath: mixed)
        try FileManager.default.createDirectory(atPath: mixed + "/deeper", withIntermediateDirectories: false)
        _ = try simulation.scratch.write([0, 1, 2], as: "mixed/binary.bin")
        _ = try simulation.scratch.write(Array("From: a@b\r\n\r\nhello\r\n".utf8), as: "mixed/plain.eml")
        let mail = try simulation.scratch.read("mail/\(expected[0].file)")
        _ = try simulation.scratch.write(Array(mail.prefix(mail.count / 2)), as: "mixed/early.eml")
        let (status, messages) = try await decrypt(mixed)
        #expect(status == 5)
        let skipped = messages.filter { $0.status == .skipped }
        #expect(
            skipped.map(\.file).sorted() == ["binary.bin", "checklist.html", "expected.json", "plain.eml"])
        let failed = messages.filter { $0.status == .failed }
        #expect(failed.map(\.file) == ["early.eml"])
        #expect(messages.count { $0.status == .opened } == expected.count)
    }

    @Test("A signed file verifies and keeps its text, and verification fails if a letter is changed")
    func sign() async throws {
        try await importAll()
        let letter = try simulation.write("Dear Dana,\nGr\u{FC}\u{DF}e\n", as: "letter.txt")
        let signed = simulation.scratch.path("letter.eml")
        let run = try await simulation.consumer(
            "sign", letter, "-o", signed, "--at", "2026-03-03T00:00:00Z", "--json")
        #expect(run.status == 0, "\(run.errors)")
        let signer = try run.document(SignatureDocument.self).signer
        #expect(signer.type == "signature")
        let opened = try await simulation.consumer("decrypt", signed)
        #expect(opened.status == 0 && opened.text.hasSuffix("\r\n\r\nDear Dana,\r\nGr=C3=BC=C3=9Fe\r\n"))
        #expect(opened.errors.contains("signed by EXAMPLE.DANA.1234567890"))
        let text = String(decoding: try simulation.scratch.read("letter.eml"), as: UTF8.self)
        let forged = try simulation.write(text.replacing("Dear Dana", with: "Dear Dane"), as: "forged.eml")
        #expect(try await simulation.consumer("decrypt", forged).status == 7)
        // Sign the signed message again.
        let again = simulation.scratch.path("again.eml")
        #expect(try await simulation.consumer("sign", signed, "-o", again, "--at", "2026-03-03").status == 0)
        #expect(try await decrypt(again).messages[0].signers.count == 2)
        let encryption = try #require(try await simulation.held().first { $0.type == "encryption" }).label
        let refused = try await simulation.consumer(
            "sign", letter, "-o", again, "--force", "--label", encryption, "--json")
        #expect(refused.status == 7)
        #expect(try refused.errorCode() == "wrong-usage")
    }

    @Test("Commands read input from a pipe")
    func pipe() async throws {
        _ = try await mail()
        try await importAll()
        let mail = String(decoding: try simulation.scratch.read("mail/all-encryption.eml"), as: UTF8.self)
        let run = try await simulation.consumer("decrypt", "-", input: mail)
        #expect(run.status == 0 && run.text.hasPrefix("Content-Type: text/plain"))
    }

    @Test("Standard input cannot be read twice, neither for two messages nor for a message and the password")
    func pipeForTwoInputs() async throws {
        for arguments in [["-", "-"], ["-", "--password-stdin"], ["-", "--password-file", "-"]] {
            let run = try await simulation.consumer(["decrypt"] + arguments)
            #expect(run.status == 64 && run.errors.contains("standard input can be used only once"))
        }
    }
}
