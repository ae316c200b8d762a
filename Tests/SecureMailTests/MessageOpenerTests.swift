import Foundation
import OpenSSL
import PrivateFiles
import TestSupport
import Testing

@testable import SecureMail

@Suite("Opening messages", .timeLimit(.minutes(10)))
struct MessageOpenerTests: MailSuite {
    let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    @Test(
        "Opening an encrypted message reports whether it is authenticated", arguments: ContentCipher.allCases)
    func encryptedMail(cipher: ContentCipher) throws {
        let opened = try open(try encrypted(body, cipher))
        #expect(try content(opened) == body)
        #expect(opened.sha256 == Digest.sha256(body))
        #expect(opened.isUnauthenticated == !cipher.isAuthenticated)
        #expect(opened.header?["subject"] == "x")
    }

    @Test("A signed message can be opened, and a signature inside CBC encryption authenticates the content")
    func signedMail() throws {
        let signed = try signed(body)
        for mail in [signed, try encrypted(signed), try self.signed(try encrypted(body))] {
            let opened = try open(mail)
            #expect(try content(opened) == body)
        }
        #expect(try open(signed).isUnauthenticated == false)
        #expect(try open(try encrypted(signed)).isUnauthenticated == false)
        // The outer signature proves nothing about the sender of the encrypted content.
        #expect(try open(try self.signed(try encrypted(body))).layers.count == 2)
    }

    @Test("A message that was saved with LF line endings can be opened")
    func lineFeeds() throws {
        for mail in [try signed(body), try encrypted(try signed(body)), try encrypted(body)] {
            let saved = Array(String(decoding: mail, as: UTF8.self).replacing("\r\n", with: "\n").utf8)
            #expect(saved.count < mail.count)
            #expect(try content(try open(saved)) == body)
            #expect(try content(try open(Array("From a@b Mon Mar  2 12:00:00 2026\n".utf8) + saved)) == body)
        }
    }

    @Test("A long message that is read in many chunks is opened with its complete content")
    func longMail() throws {
        let text = String(repeating: "A line of some length, and another one behind it.\r\n", count: 20_000)
        let long = MailWriter.textEntity(text + String(repeating: "x", count: 300_000))
        for mail in [try signed(long), try encrypted(try signed(long))] {
            #expect(try open(mail).sha256 == Digest.sha256(long))
        }
    }

    @Test("A message is rejected if its signed content or headers were altered")
    func alteredContent() throws {
        let mail = String(decoding: try signed(body), as: UTF8.self)
        for (old, new) in [
            ("Gr=C3", "gr=C3"), ("=9Fe\r\n\r\n", "=9Fe\r\n\r\n\r\n"), ("charset=utf-8", "charset=utf-7"),
        ] {
            let altered = mail.replacing(old, with: new, maxReplacements: 1)
            #expect(altered != mail)
            #expect(throws: CMSError(.invalidSignature, "")) { try open(Array(altered.utf8)) }
        }
    }

    @Test("The error for a message whose keys are unavailable contains the recipients")
    func missingKey() throws {
        let mail = try encrypted(body)
        let error = #expect(throws: CMSError.self) { try open(mail, hasKey: false) }
        #expect(error?.code == .missingKey && error?.recipients.map(\.serialNumber) == ["38AD"])
    }

    @Test("Nested encryption layers are opened up to the limit, and one more is rejected")
    func nesting() throws {
        var mail = body
        for _ in 1..<MailLimits.layers { mail = try encrypted(mail) }
        #expect(try content(try open(mail)) == body)
        mail = try encrypted(mail)
        #expect(throws: CMSError(.overLimit, "")) { try open(mail) }
    }

    @Test("Headers above the limit are rejected")
    func hugeHeaders() throws {
        let many = Array(String(repeating: "X-Header: value\r\n", count: 20_000).utf8)
        #expect(throws: CMSError(.overLimit, "")) { try open(many) }
        let one = Array("X-Header: ".utf8) + [UInt8](repeating: 0x61, count: 400_000)
        #expect(throws: CMSError(.overLimit, "")) { try open(Array("From: a\r\n".utf8) + one) }
    }

    @Test("The error for an unprotected message differs from that for a file that is not a message")
    func otherFiles() throws {
        for bytes in [
            [], [0], Array("no mail\n".utf8), [UInt8](repeating: 0x20, count: 400_000),
            Array("{\"a\": 1}\n".utf8),
        ] {
            #expect(throws: CMSError(.noMessage, "")) { try open(bytes) }
        }
        #expect(throws: CMSError(.unprotected, "")) {
            try open(MailHeader([.init("From", "a")]).encoded + body)
        }
        let mixed = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n--b--\r\n"
        #expect(throws: CMSError(.unprotected, "")) { try open(Array(mixed.utf8)) }
    }

    @Test("A truncated message is rejected")
    func truncation() throws {
        for mail in [try encrypted(body, .aes128GCM), try signed(body)] {
            // The last lines contain nothing that decryption or verification needs.
            let end = try #require(mail.lastIndex(of: UInt8(ascii: "="))) - 8
            for count in stride(from: 0, to: end, by: 37) {
                #expect(throws: CMSError.self) { try open(Array(mail.prefix(count))) }
            }
        }
    }

    @Test("A body that is not Base64 is malformed")
    func damagedBase64() throws {
        let mail = try encrypted(body)
        let start = try #require(mail.firstRange(of: Array("\r\n\r\n".utf8))).upperBound
        var altered = mail
        altered[start + 20] = UInt8(ascii: "!")
        #expect(throws: CMSError(.malformed, "")) { try open(altered) }
    }

    @Test("A message in Base64 is rejected if its last group is incomplete")
    func incompleteBase64() throws {
        // The length of the structure is a multiple of 3, so that no padding precedes the damage.
        let der = try #require(
            (0..<8).lazy.compactMap { extra -> [UInt8]? in
                let text = body + [UInt8](repeating: 0x78, count: extra * 16)
                let all = (0..<8).compactMap { _ in
                    try? CMSEnvelope.encrypt(text, for: [identity.certificate], cipher: .aes128GCM)
                }
                return all.first { $0.count % 3 == 0 }
            }.first)
        #expect(throws: Never.self) { try open(base64(der)) }
        #expect(throws: CMSError(.malformed, "")) { try open(base64(der) + Array("Q\r\n".utf8)) }
    }

    @Test("CMS messages in DER or PEM without mail headers can be opened")
    func bareMessages() throws {
        let der = try CMSEnvelope.encrypt(body, for: [identity.certificate], cipher: .aes128CBC)
        #expect(try content(try open(der)) == body)
        for label in ["CMS", "PKCS7"] {
            let pem =
                Array("-----BEGIN \(label)-----\n".utf8) + MailText.base64(der)
                + Array("-----END \(label)-----\n".utf8)
            let opened = try open(pem)
            #expect(try content(opened) == body && opened.header == nil)
        }
    }

    @Test(
        "PEM with an inexact first line or with a second block is malformed, because programs choose another block"
    )
    func ambiguousPEM() throws {
        let der = try CMSEnvelope.encrypt(body, for: [identity.certificate], cipher: .aes128CBC)
        let lines = String(decoding: MailText.base64(der), as: UTF8.self)
        func pem(_ begin: String, _ end: String) -> [UInt8] {
            Array("\(begin)\n\(lines)-----END CMS-----\(end)".utf8)
        }
        let begin = "-----BEGIN CMS-----"
        let filler = String(repeating: "x", count: OpenFile.chunk)
        for end in ["", "\n", "\n-----\nBEGIN\n", "\n----BEGIN CMS-----\n", "\n\(filler)"] {
            #expect(try content(try open(pem(begin, end))) == body)
        }
        for begin in [begin + "\r", begin + " \t", "-----BEGIN PKCS7----- "] {
            #expect(try content(try open(pem(begin, ""))) == body)
        }
        for begin in [
            begin + "x", begin + " x", "-----BEGIN CMS----", "-----BEGIN PKCS7 -----", begin + "\0",
        ] {
            #expect(throws: CMSError(.malformed, ""), "\(begin)") { try open(pem(begin, "")) }
        }
        let start = pem(begin, "\n").count
        for end in [
            "\n\(begin)\n", "\n-----BEGIN PKCS7-----\n", " -----BEGIN X",
            // A chunk ends within the second block's first line.
            "\n" + String(repeating: "x", count: OpenFile.chunk - start % OpenFile.chunk - 4) + begin,
        ] {
            #expect(throws: CMSError(.malformed, ""), "\(end.suffix(40))") { try open(pem(begin, end)) }
        }
    }
}

@Suite("Signing files", .timeLimit(.minutes(10)))
struct SignedContentTests {
    private let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private func content(of bytes: [UInt8], name: String = "file") throws -> (SignedContent, [UInt8]) {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(bytes)
        let content = try SignedContent(file.descriptor, name: name, scratch: scratch.path)
        try content.entity.rewind()
        var entity: [UInt8] = []
        while true {
            let bytes = try OpenFile.read(content.entity.descriptor, named: "entity")
            if bytes.isEmpty { return (content, entity) }
            entity += bytes
        }
    }

    @Test("Text becomes the body of a message, and any other file becomes an attachment")
    func files() throws {
        let (text, entity) = try content(of: Array("Gr\u{FC}\u{DF}e\n".utf8))
        #expect(!text.isMail && entity == MailWriter.textEntity("Gr\u{FC}\u{DF}e\n"))
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let (binary, attached) = try content(of: bytes, name: "a\"\r\nb.bin")
        #expect(!binary.isMail)
        let parts = String(decoding: attached, as: UTF8.self).split(separator: "\r\n\r\n", maxSplits: 1)
        #expect(parts[0].contains("filename=\"ab.bin\""))
        #expect(
            Data(base64Encoded: String(parts[1]), options: .ignoreUnknownCharacters).map(Array.init) == bytes)
    }

    @Test("The signed content includes only the content headers, and the message headers remain outside")
    func mails() throws {
        let mail =
            "From: a@b\nMIME-Version: 1.0\nContent-Type: text/plain;\n charset=utf-8\nSubject: s\n\nhello\n"
        let (content, entity) = try content(of: Array(mail.utf8))
        #expect(content.isMail && content.header.fields.map(\.name) == ["From", "Subject"])
        #expect(entity == Array("Content-Type: text/plain; charset=utf-8\r\n\r\nhello\r\n".utf8))
    }

    @Test(
        "Header protection copies the fields into the entity, and replaces the parameters of an earlier one")
    func protectedHeader() throws {
        let mail =
            "From: a@b\nMIME-Version: 1.0\nContent-Type: text/plain; hp=\"cipher\"; charset=utf-8\nSubject: s\n\nhello\n"
        let file = try UnnamedFile(in: scratch.path)
        try file.write(Array(mail.utf8))
        let content = try SignedContent(
            file.descriptor, name: "f", scratch: scratch.path, protectsHeader: true)
        try content.entity.rewind()
        #expect(content.header.fields.map(\.name) == ["From", "Subject"])
        #expect(
            String(decoding: try OpenFile.read(content.entity.descriptor, named: "entity"), as: UTF8.self)
                == "From: a@b\r\nSubject: s\r\nContent-Type: text/plain; charset=utf-8; hp=\"clear\"\r\n\r\nhello\r\n"
        )
    }

    @Test("The parameters of an earlier header protection are removed if the fields remain outside")
    func earlierProtection() throws {
        for (value, expected) in [
            ("text/plain; hp=\"cipher\"; charset=utf-8", "text/plain; charset=utf-8"),
            ("text/plain; HP=clear; hp-legacy-display=\"1\"", "text/plain"),
            ("text/plain; protected-headers=\"v1\"", "text/plain"),
            ("text/plain; name=\"a; hp=1\"", "text/plain; name=\"a; hp=1\""),
            (
                "text/plain; name=\"a; hp=1\\\"; hp=2\"; hp=\"c\\\";d\"; x=y",
                "text/plain; name=\"a; hp=1\\\"; hp=2\"; x=y"
            ),
        ] {
            let (_, entity) = try content(of: Array("From: a@b\nContent-Type: \(value)\n\nx\n".utf8))
            #expect(entity == Array("Content-Type: \(expected)\r\n\r\nx\r\n".utf8))
        }
    }

    @Test(
        "A body with a CR without LF, or with NUL, is encoded in quoted-printable",
        arguments: [
            ("a\r\r\nb\r\n", "a=0D\r\nb\r\n"), ("a\rFrom: x\n", "a=0DFrom: x\r\n"),
            ("a\0b=\r\n", "a=00b=3D\r\n"), ("a\r", "a=0D"),
        ])
    func irregularLines(_ body: String, _ encoded: String) throws {
        for field in ["", "Content-Transfer-Encoding: 8bit\n", "content-transfer-encoding: Binary\n"] {
            let mail = "From: a@b\nContent-Type: text/html\n\(field)\n\(body)"
            let (_, entity) = try content(of: Array(mail.utf8))
            #expect(
                String(decoding: entity, as: UTF8.self)
                    == "Content-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\(encoded)"
            )
        }
        for header in [
            "Content-Type: multipart/mixed; boundary=b", "Content-Type: message/rfc822",
            "Content-Transfer-Encoding: base64", "Content-Type: text/plain\nContent-Type: text/html",
        ] {
            #expect(throws: CMSError(.malformed, "")) {
                try content(of: Array("From: a@b\n\(header)\n\n\(body)".utf8))
            }
        }
    }

    @Test("A CR LF that a chunk divides is one line end in an encoded body")
    func dividedLineEnds() throws {
        let header = "From: a@b\n\n"
        for shift in -1...1 {
            // The reader returns a long line when it has read two chunks.
            let filler = String(repeating: "a", count: 2 * OpenFile.chunk - header.utf8.count - 1 + shift)
            let (_, entity) = try content(of: Array((header + filler + "\r\nb\rc\n").utf8))
            let parts = String(decoding: entity, as: UTF8.self).split(separator: "\r\n\r\n", maxSplits: 1)
            #expect(
                MailText.quotedPrintableDecoded(Array(parts[1].utf8)) == Array((filler + "\r\nb\rc\r\n").utf8)
            )
        }
    }

    @Test(
        "A message with a CR without LF, or with NUL, in its header is not signed",
        arguments: ["a\rb", "a\0b", "a\r"])
    func irregularHeaders(_ value: String) throws {
        let error = #expect(throws: CMSError(.malformed, "")) {
            try content(of: Array("X: \(value)\r\nFrom: a@b\r\n\r\nx\r\n".utf8))
        }
        #expect(error?.reason.contains("the header of the message contains a CR or NUL") == true)
    }

    @Test("A file without From, MIME-Version and Content-Type is text, even if it begins like a header")
    func textWithColon() throws {
        let (text, entity) = try content(of: Array("Note: read this\n\nhello\n".utf8))
        #expect(!text.isMail && text.header.fields.isEmpty)
        #expect(entity == MailWriter.textEntity("Note: read this\n\nhello\n"))
        let lines = String(repeating: "Note: a\n", count: MailLimits.fields + 1)
        #expect(try !content(of: Array(lines.utf8)).0.isMail)
        let (broken, _) = try content(of: Array("From: a\nno header\n".utf8))
        #expect(!broken.isMail)
    }

    @Test(
        "A file with control characters, bytes that are not UTF-8, or a line longer than a chunk is an attachment"
    )
    func noText() throws {
        let long = [UInt8](repeating: 0x78, count: OpenFile.chunk)
        for bytes in [Array("a\u{7}b\n".utf8), [0x61, 0xFF, 0x0A], long] {
            let (_, entity) = try content(of: bytes)
            #expect(entity.starts(with: "Content-Type: application/octet-stream\r\n".utf8))
        }
        let (_, entity) = try content(of: Array(long.dropLast(2)) + [0x0A])
        #expect(entity.starts(with: "Content-Type: text/plain".utf8))
    }

    @Test("A file with headers above the limit is rejected")
    func hugeHeaders() throws {
        let bytes = Array(("From: a\n" + String(repeating: "X-Header: value\n", count: 20_000)).utf8)
        #expect(throws: CMSError(.overLimit, "")) { try content(of: bytes) }
    }
}
