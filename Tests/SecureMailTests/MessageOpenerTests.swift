import Foundation
import OpenSSL
import PrivateFiles
import TestSupport
import Testing

@testable import SecureMail

/// An identity that encrypts and signs.
private let identity: (certificate: Certificate, key: PrivateKey) = {
    do {
        let key = try PrivateKey.generate(.p256)
        let name = try DistinguishedName([.init("CN", "EXAMPLE.DANA.1234567890")])
        let template = CertificateTemplate(
            subject: name, serialNumber: [0x38, 0xAD], notBefore: Date(timeIntervalSince1970: 1_700_000_000),
            notAfter: Date(timeIntervalSince1970: 1_900_000_000))
        return (try CertificateIssuer(selfSigned: template, privateKey: key).certificate, key)
    } catch {
        preconditionFailure("\(error)")
    }
}()

@Suite("Opening mails")
struct MessageOpenerTests {
    private let scratch: ScratchFolder
    private let body = MailWriter.textEntity("Gr\u{FC}\u{DF}e\r\n")
    private let header = MailHeader([.init("From", "a@mail.example"), .init("Subject", "x")])

    init() throws { scratch = try ScratchFolder() }

    private func open(_ mail: [UInt8], hasKey: Bool = true) throws -> OpenedMessage {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(mail)
        return try MessageOpener(scratch: scratch.path) { recipient in
            hasKey && recipient.isHolder(of: identity.certificate) ? identity : nil
        }.open(file.descriptor)
    }

    private func content(_ message: OpenedMessage) throws -> [UInt8] {
        try message.content.rewind()
        return try OpenFile.read(message.content.descriptor, named: "content")
    }

    private func encrypted(_ entity: [UInt8], _ cipher: ContentCipher = .aes256CBC) throws -> [UInt8] {
        try MailWriter.encrypted(
            header, entity, for: [identity.certificate], cipher: cipher, transport: .pkcs1)
    }

    private func signed(_ entity: [UInt8]) throws -> [UInt8] {
        try MailWriter.signed(
            header, entity, as: identity, chain: [], boundary: "keyshare-boundary", scratch: scratch.path)
    }

    @Test("An encrypted mail opens, and says whether it was authenticated", arguments: ContentCipher.allCases)
    func encryptedMail(cipher: ContentCipher) throws {
        let opened = try open(try encrypted(body, cipher))
        #expect(try content(opened) == body)
        #expect(opened.sha256 == Digest.sha256(body))
        #expect(opened.isUnauthenticated == !cipher.isAuthenticated)
        #expect(opened.header?["subject"] == "x")
    }

    @Test("A signed mail opens; inside an encryption in CBC the signature authenticates")
    func signedMail() throws {
        let signed = try signed(body)
        for mail in [signed, try encrypted(signed), try self.signed(try encrypted(body))] {
            let opened = try open(mail)
            #expect(try content(opened) == body)
        }
        #expect(try open(signed).isUnauthenticated == false)
        #expect(try open(try encrypted(signed)).isUnauthenticated == false)
        // The signature is outside: who encrypted need not be who signed, but nothing was altered since.
        #expect(try open(try self.signed(try encrypted(body))).layers.count == 2)
    }

    @Test("A mail that was saved with line feeds alone opens all the same")
    func lineFeeds() throws {
        for mail in [try signed(body), try encrypted(try signed(body)), try encrypted(body)] {
            let saved = Array(String(decoding: mail, as: UTF8.self).replacing("\r\n", with: "\n").utf8)
            #expect(saved.count < mail.count)
            #expect(try content(try open(saved)) == body)
            #expect(try content(try open(Array("From a@b Mon Mar  2 12:00:00 2026\n".utf8) + saved)) == body)
        }
    }

    @Test("A long mail, read in many pieces, opens with its content")
    func longMail() throws {
        let text = String(repeating: "A line of some length, and another one behind it.\r\n", count: 20_000)
        let long = MailWriter.textEntity(text + String(repeating: "x", count: 300_000))
        for mail in [try signed(long), try encrypted(try signed(long))] {
            #expect(try open(mail).sha256 == Digest.sha256(long))
        }
    }

    @Test("A mail whose signed content was altered is refused, at its end, its start and in its headers")
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

    @Test("A mail for somebody else says for whom it is")
    func missingKey() throws {
        let mail = try encrypted(body)
        let error = #expect(throws: CMSError.self) { try open(mail, hasKey: false) }
        #expect(error?.code == .missingKey && error?.recipients.map(\.serialNumber) == ["38AD"])
    }

    @Test("Encryptions inside one another open up to the limit, and no further")
    func nesting() throws {
        var mail = body
        for _ in 1..<MailLimits.layers { mail = try encrypted(mail) }
        #expect(try content(try open(mail)) == body)
        mail = try encrypted(mail)
        #expect(throws: CMSError(.overLimit, "")) { try open(mail) }
    }

    @Test("Headers that go on for ever are refused by their limit")
    func hugeHeaders() throws {
        let many = Array(String(repeating: "X-Header: value\r\n", count: 20_000).utf8)
        #expect(throws: CMSError(.overLimit, "")) { try open(many) }
        let one = Array("X-Header: ".utf8) + [UInt8](repeating: 0x61, count: 400_000)
        #expect(throws: CMSError(.overLimit, "")) { try open(Array("From: a\r\n".utf8) + one) }
    }

    @Test("What is no mail, and a mail without any protection, are told apart")
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

    @Test("A mail that ends anywhere early is refused")
    func truncation() throws {
        for mail in [try encrypted(body, .aes128GCM), try signed(body)] {
            // Without the last lines nothing is missing that counts.
            let end = try #require(mail.lastIndex(of: UInt8(ascii: "="))) - 8
            for count in stride(from: 0, to: end, by: 37) {
                #expect(throws: CMSError.self) { try open(Array(mail.prefix(count))) }
            }
        }
    }

    @Test("A body that is no Base64 is malformed")
    func damagedBase64() throws {
        let mail = try encrypted(body)
        let start = try #require(mail.firstRange(of: Array("\r\n\r\n".utf8))).upperBound
        var altered = mail
        altered[start + 20] = UInt8(ascii: "!")
        #expect(throws: CMSError(.malformed, "")) { try open(altered) }
    }

    @Test("A bare message in DER and in PEM opens as a mail does")
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
}

@Suite("Signing files")
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

    @Test("A text becomes the text of a mail, and other bytes an attachment")
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

    @Test("A mail keeps its headers outside, and its content with its own headers inside")
    func mails() throws {
        let mail =
            "From: a@b\nMIME-Version: 1.0\nContent-Type: text/plain;\n charset=utf-8\nSubject: s\n\nhello\n"
        let (content, entity) = try content(of: Array(mail.utf8))
        #expect(content.isMail && content.header.fields.map(\.name) == ["From", "Subject"])
        #expect(entity == Array("Content-Type: text/plain; charset=utf-8\r\n\r\nhello\r\n".utf8))
    }
}
