import Foundation
import OpenSSL
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@testable import SecureMail

@Suite("Rules of addresses, fields and parts of messages", .timeLimit(.minutes(10)))
struct MailRuleTests: MailSuite {
    let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private func read(_ mail: [UInt8], hasKey: Bool = true) throws -> MessageContents {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(mail)
        return try MessageReader(scratch: scratch.path, keepsContent: true) { recipient in
            hasKey && recipient.isHolder(of: identity.certificate) ? identity : nil
        }.read(file.descriptor)
    }

    private func multipart(_ parts: [[UInt8]]) -> [UInt8] {
        Array("From: list@mail.example\r\nContent-Type: multipart/mixed; boundary=\"list\"\r\n\r\n".utf8)
            + parts.flatMap { Array("--list\r\n".utf8) + $0 + Array("\r\n".utf8) }
            + Array("--list--\r\n".utf8)
    }

    @Test("A domain has at most 255 bytes and no port")
    func domains() {
        let longest = String(repeating: "m", count: 251) + ".com"
        #expect(MailAddress("a@" + longest)?.domain == longest)
        for domain in ["m" + longest, "m.example:25", "m.example:", ""] {
            #expect(MailAddress("a@" + domain) == nil, "\(domain)")
        }
        #expect(MailAddress("a@[IPv6:2001:db8::1]") != nil)
    }

    @Test(
        "An address with a character that could begin another address is replaced",
        arguments: ["<", ">", ",", ";", "\"", "\\", "(", ")", " ", "\r", "\u{7F}", "\u{FC}"])
    func injection(character: String) {
        #expect(MailText.address("a\(character)@m.example", name: nil) == "somebody@mail.example")
        #expect(MailText.address("a@m\(character).example", name: nil) == "somebody@mail.example")
        #expect(MailText.address("a@m.example", name: nil) == "a@m.example")
    }

    @Test("Of equal parameters of a content type, the first one counts")
    func parameters() throws {
        let type = try #require(ContentType("multipart/mixed; boundary=a; Boundary=b; x=1; x=2"))
        #expect(type.parameters["boundary"] == "a" && type.parameters["x"] == "1")
    }

    @Test("Base64 that ends inside a group is damaged, whether or not an end is expected")
    func incompleteBase64() throws {
        for (text, isWhole) in [
            ("QUJD", true), ("QUJDRA==", true), ("QUJDR", false), ("QUJDRA", false), ("QUJDRA=", false),
        ] {
            for end in ["", "\r\n--b\r\n"] {
                let file = try UnnamedFile(in: scratch.path)
                try file.write(Array((text + end).utf8))
                var source = EncodedBody(try LineReader(file.descriptor), isBase64: true) {
                    $0.starts(with: "--b".utf8)
                }
                func readAll() throws { while try !source.next().isEmpty {} }
                if isWhole {
                    try readAll()
                } else {
                    #expect(throws: CMSError(.malformed, "")) { try readAll() }
                }
            }
        }
    }

    @Test("A field that occurs twice results in one difference, and fields of the content in none")
    func repeatedFields() throws {
        let payload =
            "From: a@mail.example\r\nTo: b@mail.example\r\nto: c@mail.example\r\nMIME-Version: 1.0\r\n"
            + "Content-Language: en\r\nContent-Type: text/plain; hp=\"clear\"\r\n\r\nbody\r\n"
        let found = try #require(
            try read(try signed(Array(payload.utf8))).parts.first?.headerProtection)
        #expect(
            found.differences == [
                .init(.removed, "To", inner: "b@mail.example, c@mail.example", outer: nil),
                .init(.added, "Subject", inner: nil, outer: "x"),
            ])
        #expect(found.header.fields.map(\.name) == ["From", "To", "to"])
    }

    @Test("Only the content type gets the parameters of header protection")
    func protectedParameters() {
        let content = MailHeader([
            .init("Content-Type", "text/plain; hp=\"cipher\"; charset=utf-8"),
            .init("Content-Disposition", "attachment; filename=\"x; hp=1\""),
        ])
        let fields = HeaderProtection.fields(for: header, content: content, isEncrypted: false).payload
        #expect(fields["Content-Type"] == "text/plain; charset=utf-8; hp=\"clear\"")
        #expect(fields["Content-Disposition"] == "attachment; filename=\"x; hp=1\"")
    }

    @Test("Encoded words of other charsets are not decoded, and long lines keep to their limits")
    func lengths() {
        for text in ["=?koi8-r?Q?abc?=", "=?windows-1252?Q?=81?=", "=?utf-8?Q?=FC?="] {
            #expect(MailText.decoded(headerValue: text) == text)
        }
        #expect(MailText.decoded(headerValue: "=?ISO-8859-1?Q?=FC_?= =?windows-1252?B?gA==?=") == "ü €")
        #expect(MailText.decoded(headerValue: "=?koi8-r?Q?a=DE.p7s?=", assumesLatin: true) == "aÞ.p7s")
        #expect(MailText.decoded(headerValue: "=?iso-2022-jp?Q?a.eml?=", assumesLatin: true) == "a.eml")
        #expect(MailText.decoded(headerValue: "=?utf-7?Q?abc?=", assumesLatin: true) == "=?utf-7?Q?abc?=")
        #expect(MailText.decoded(headerValue: "=?US-ASCII?Q?abc?=") == "abc")
        for count in 75...78 {
            let encoded = MailText.quotedPrintable([UInt8](repeating: 0x78, count: count))
            let lines = String(decoding: encoded, as: UTF8.self).components(separatedBy: "\r\n")
            #expect(lines.allSatisfy { $0.utf8.count <= 76 })
        }
    }

    @Test("A line of 998 bytes in a header is not folded, and a longer one is")
    func folding() {
        for (count, isFolded) in [(998, false), (999, true)] {
            let value = String(repeating: "word ", count: 198)
            let field = "X: " + value + String(repeating: "e", count: count - 3 - value.utf8.count)
            let encoded = String(
                decoding: MailHeader([.init("X", String(field.dropFirst(3)))]).encoded, as: UTF8.self)
            #expect(encoded.hasPrefix(field + "\r\n") == !isFolded)
        }
    }

    @Test("A multipart entity without parts is a part itself")
    func withoutParts() throws {
        let contents = try read(multipart([]))
        #expect(contents.contents.map(\.type) == ["multipart/mixed"])
        let inner = try read(
            multipart([Array("Content-Type: multipart/related; boundary=i\r\n\r\n--i--\r\n".utf8)]))
        #expect(inner.contents.map(\.type) == ["multipart/related"])
    }

    @Test("A part whose header other programs could read differently has an ambiguous media type")
    func ambiguousParts() throws {
        let headers = [
            "Content-Type: text/plain\r\nContent-Type: text/html\r\n",
            "X\u{FC}: 1\r\nContent-Type: text/html\r\n",
            "X: 1\rContent-Type: text/html\r\n", "Content-Type: text/html, text/plain\r\n", " \r\n",
            "Subject: x\r\nno field\r\nContent-Type: text/html\r\n", "Content-Type: text/html\0\r\n",
        ]
        let contents = try read(multipart(headers.map { Array(($0 + "\r\nx").utf8) }))
        #expect(contents.contents.count == headers.count && contents.limit == nil)
        #expect(contents.contents.allSatisfy { $0.hasAmbiguousType && !$0.isInert })
        let large = "X: " + String(repeating: "x", count: MailLimits.headers) + "\r\n\r\n"
        let limited = try read(multipart([try signed(body), Array(large.utf8)]))
        #expect(limited.limit?.contains("headers") == true && limited.parts.count == 1)
    }

    @Test("Only plain text and signatures, without the file name of another type, are inert")
    func inertParts() throws {
        let types = [
            ("text/plain", true), ("application/pgp-signature", true), ("application/pkcs7-signature", true),
            ("application/x-pkcs7-signature", true), ("Text/Plain", true), ("text/html", false),
            ("text/x-plain", false), ("application/octet-stream", false), ("image/png", false),
        ]
        let names = [
            ("a.txt", true), ("a.ASC", true), ("a.sig", true), ("a.p7s", true), ("a.html", false),
            ("txt", false), ("a.txt.svg", false), ("", true), ("=?utf-8?Q?a.txt?=", true),
            ("=?utf-8?Q?a=22;_name=3D=22a.html=22;_x=3D=22.txt?=", false),
            ("=?utf-8?Q?a.html=00.txt?=", false),
        ]
        let headers =
            types.map { "Content-Type: \($0.0)\r\n" }
            + names.map { "Content-Type: text/plain; name=\"\($0.0)\"\r\n" }
            + names.map { "Content-Disposition: inline; filename=\"\($0.0)\"\r\n" }
        let contents = try read(multipart((headers + [""]).map { Array(($0 + "\r\nx").utf8) })).contents
        let expected = types.map(\.1) + names.map(\.1) + names.map(\.1) + [true]
        #expect(contents.map(\.isInert) == expected)
    }

    @Test("Fields that describe the message are shown to users, and those of transport and content are not")
    func shownFields() {
        for name in [
            "Subject", "From", "To", "Cc", "BCC", "Date", "Reply-To", "Followup-To", "Sender", "comments",
            "Keywords", "Message-ID", "In-Reply-To", "References", "Resent-From", "Resent-To", "Resent-Cc",
            "Resent-Date", "Resent-Sender",
        ] {
            #expect(MailHeader.Field(name, "x").isShownToUsers, "\(name)")
        }
        for name in ["Received", "DKIM-Signature", "X-Subject", "Content-Type", "MIME-Version", "Subject2"] {
            #expect(!MailHeader.Field(name, "x").isShownToUsers, "\(name)")
        }
    }

    @Test("An encrypted message has the fields of RFC 8551 after its own")
    func writtenFields() throws {
        let fields = try #require(try open(try encrypted(body)).header).fields
        #expect(
            fields.map { "\($0.name): \($0.value)" } == [
                "From: a@mail.example", "Subject: x", "MIME-Version: 1.0",
                "Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=\"smime.p7m\"",
                "Content-Transfer-Encoding: base64",
                "Content-Disposition: attachment; filename=\"smime.p7m\"",
            ])
    }

    @Test("The error for a missing key names at most three recipients and the number of the others")
    func recipientNames() throws {
        for (count, more) in [(1, ""), (2, ""), (3, ""), (4, " and 1 others"), (6, " and 3 others")] {
            let mail = try MailWriter.encrypted(
                header, body, for: Array(repeating: identity.certificate, count: count), cipher: .aes256CBC,
                transport: .pkcs1)
            let error = #expect(throws: CMSError.self) { try open(mail, hasKey: false) }
            let recipients = try #require(error?.recipients)
            #expect(recipients.count == count)
            let names = Array(repeating: recipients[0].name, count: min(count, 3)).joined(separator: ", ")
            #expect(error?.reason.contains("is encrypted for \(names)\(more), and none") == true)
        }
    }

    @Test("The text of a message without parts is inert, but not a part of a digest")
    func digestParts() throws {
        let single = try read(Array("From: a@mail.example\r\nContent-Type: text/plain\r\n\r\nx".utf8))
        #expect(single.contents.map(\.isInert) == [true])
        for (type, isInert) in [("mixed", true), ("digest", false)] {
            let mail =
                "From: a@m\r\nContent-Type: multipart/\(type); boundary=b\r\n\r\n--b\r\n\r\nx\r\n--b--\r\n"
            #expect(try read(Array(mail.utf8)).contents.map(\.isInert) == [isInert])
        }
    }

    @Test("The content of a part is kept only if the caller requests it")
    func keptContent() throws {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(try encrypted(body))
        for keepsContent in [false, true] {
            let reader = MessageReader(scratch: scratch.path, keepsContent: keepsContent) { _ in identity }
            let part = try #require(try reader.read(file.descriptor).parts.first)
            #expect((part.content != nil) == keepsContent)
            #expect(part.sha256 != nil && part.failure == nil)
        }
    }

    @Test("A part inside a wrapped message belongs to the header of this message")
    func wrappedHeader() throws {
        let inner = Array("Subject: inner\r\n".utf8) + multipart([try signed(body)])
        let contents = try read(try encrypted(Array("Content-Type: message/rfc822\r\n\r\n".utf8) + inner))
        #expect(contents.parts.map { $0.header?["Subject"] } == ["x", "inner"])
        #expect(contents.parts.first?.headerProtection?.form == .wrapped)
    }

    @Test("A message that is attached as a file does not protect the header fields of the message around it")
    func attachedMessage() throws {
        let inner = Array("From: other@mail.example\r\nSubject: inner\r\n\r\nx".utf8)
        for (fields, isWrapped) in [
            ("message/rfc822", true), ("message/rfc822\r\nContent-Disposition: inline", true),
            ("message/rfc822\r\nContent-Disposition: Attachment ; filename=a.eml", false),
            ("application/octet-stream; name=note.eml", false),
        ] {
            let fields = "Content-Type: \(fields)\r\n\r\n"
            let part = try #require(try read(try signed(Array(fields.utf8) + inner)).parts.first)
            #expect(part.failure == nil && (part.headerProtection?.form == .wrapped) == isWrapped)
        }
    }

    @Test("The chosen part keeps its error, and layers below the limit are opened")
    func chosenPart() throws {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(
            multipart([Array("Content-Type: message/rfc822\r\n\r\n".utf8) + (try encrypted(body))]))
        #expect(throws: CMSError(.missingKey, "")) {
            try MessageOpener(scratch: scratch.path) { _ in nil }.open(part: "1.1", of: file.descriptor)
        }
        var layers = body
        for level in 1..<MailLimits.layers { layers = try signed(layers, boundary: "b\(level)") }
        let part = try #require(try read(layers).parts.first)
        #expect(part.failure == nil && part.layers.count == MailLimits.layers - 1)
        #expect(try open(layers).layers.count == MailLimits.layers - 1)
    }

    @Test("Only an attachment of the general type is a message because of its name")
    func attachmentTypes() throws {
        let mail = String(decoding: try encrypted(body), as: UTF8.self)
        let type = try #require(mail.firstRange(of: /Content-Type: [^\r]*(?:\r\n [^\r]*)*/))
        for name in ["application/pdf", "text/plain"] {
            let changed = mail.replacingCharacters(
                in: type, with: "Content-Type: \(name); name=\"smime.p7m\"")
            #expect(throws: CMSError(.unprotected, "")) { try open(Array(changed.utf8)) }
        }
    }

    @Test("The file name of an S/MIME message may be only in Content-Disposition")
    func dispositionNames() throws {
        let der = try CMSEnvelope.encrypt(body, for: [identity.certificate], cipher: .aes128CBC)
        let mail = String(decoding: base64(der), as: UTF8.self)
        for (fields, isMessage) in [
            ("octet-stream\r\nContent-Disposition: attachment; filename=\"smime.P7M\"", true),
            ("octet-stream\r\nContent-Disposition: attachment; filename=smime.p7m", true),
            ("octet-stream\r\nContent-Disposition: attachment; filename=smime.p7m (x)", false),
            ("octet-stream\r\nContent-Disposition: attachment; filename=a.p7m; filename=b.html", false),
            ("octet-stream; name=a.bin\r\nContent-Disposition: attachment; filename=smime.p7m", false),
            ("pdf\r\nContent-Disposition: attachment; filename=smime.p7m", false),
        ] {
            let changed = Array(mail.replacing("pkcs7-mime", with: fields).utf8)
            #expect(try read(changed).parts.count == (isMessage ? 1 : 0), "\(fields)")
            if isMessage { #expect(try content(try open(changed)) == body) }
        }
    }

    @Test("A file with From, MIME-Version or Content-Type is a message, whose content is text by default")
    func signedFiles() throws {
        for field in ["From: a@b", "MIME-Version: 1.0", "Content-Type: text/html"] {
            let file = try UnnamedFile(in: scratch.path)
            try file.write(Array("\(field)\n\nhello\n".utf8))
            let content = try SignedContent(file.descriptor, name: "f", scratch: scratch.path)
            try content.entity.rewind()
            let type = field.hasPrefix("Content") ? "text/html" : "text/plain; charset=us-ascii"
            let entity = try OpenFile.read(content.entity.descriptor, named: "entity")
            #expect(content.isMail && entity == Array("Content-Type: \(type)\r\n\r\nhello\r\n".utf8))
        }
    }

    private func template(_ subject: DistinguishedName) -> CertificateTemplate {
        CertificateTemplate(
            subject: subject, serialNumber: [1], notBefore: Date(timeIntervalSince1970: 1_700_000_000),
            notAfter: Date(timeIntervalSince1970: 1_900_000_000))
    }

    @Test("The addresses of a certificate include those in its subject")
    func subjectAddresses() throws {
        var template = template(
            try DistinguishedName([
                .init("CN", "Dana"), .init("emailAddress", "old@mail.example"), .init("emailAddress", "Dana"),
            ]))
        template.subjectAlternativeNames = [.rfc822Name("new@mail.example")]
        let certificate = try CertificateIssuer(selfSigned: template, privateKey: identity.key).certificate
        #expect(
            MailAddress.addresses(in: certificate).map(\.description) == [
                "new@mail.example", "old@mail.example",
            ])
    }

    @Test("A message whose recipient has a key of type X25519 is not supported")
    func keysOfX25519() throws {
        let start: [UInt8] = [
            0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x6E, 0x04, 0x22, 0x04, 0x20,
        ]
        let key = try PrivateKey(pkcs8: SecretBytes(start + [UInt8](repeating: 7, count: 32)))
        let certificate = try CertificateIssuer(
            certificate: identity.certificate, privateKey: identity.key
        ).issue(template(try DistinguishedName([.init("CN", "Dana")])), to: key)
        #expect(certificate.publicKey.type == .x25519)
        let file = try UnnamedFile(in: scratch.path)
        try file.write(try encrypted(body))
        #expect(throws: CMSError(.unsupported(oid: ""), "")) {
            try MessageOpener(scratch: scratch.path) { _ in (certificate: certificate, key: key) }
                .open(file.descriptor)
        }
    }

    @Test("An HP-Outer field without a colon records no field")
    func malformedRecords() throws {
        let type = MailHeader.Field("Content-Type", "text/plain; hp=\"cipher\"")
        // A record with an empty value states that the field was outside, and it was removed later.
        let cases: [(String, HeaderProtection.Difference.Kind)] = [
            ("Subject", .hidden), ("Subject:", .removed),
        ]
        for (record, kind) in cases {
            let payload = MailHeader([.init("Subject", "x"), .init("HP-Outer", record), type])
            let found = try #require(
                HeaderProtection(
                    payload: payload, wrapped: nil, outer: MailHeader([.init("From", "a@mail.example")]),
                    isEncrypted: true))
            let subject = found.differences.first { $0.name == "Subject" }
            let expected = HeaderProtection.Difference(kind, "Subject", inner: "x", outer: nil)
            #expect(subject == expected, "\(record)")
        }
    }

    @Test(
        "Only the first 1,024 characters of a field are shown as a difference, but all of them are compared")
    func longValues() throws {
        let type = MailHeader.Field("Content-Type", "text/plain; hp=\"clear\"")
        let long = String(repeating: "x", count: 1_024)
        for (inner, outer, shown) in [
            (long + "yz", long + "yz", nil), (long + "y", long + "z", (long + "…", long + "…")),
            (long, long + "z", (long, long + "…")),
        ] as [(String, String, (String, String)?)] {
            let payload = MailHeader([.init("Subject", inner), type])
            let found = HeaderProtection(
                payload: payload, wrapped: nil, outer: MailHeader([.init("Subject", outer)]),
                isEncrypted: false)
            let difference = try #require(found).differences.first
            #expect(difference?.inner == shown?.0 && difference?.outer == shown?.1)
        }
    }

    @Test("A message without hidden fields has no legacy display")
    func emptyLegacyDisplay() {
        let fields = MailHeader([.init("From", "a@mail.example"), .init("To", "b@mail.example")])
        #expect(HeaderProtection.legacyDisplay(of: fields) == "")
        #expect(HeaderProtection.legacyDisplay(of: header) == "Subject: x\n\n")
    }

    @Test("An attached message in damaged Base64 is listed as content that was not read")
    func damagedMessages() throws {
        let fields = "Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        let damaged = Array((fields + "QUJDR").utf8)
        for mail in [multipart([damaged]), try signed(damaged)] {
            let contents = try read(mail)
            #expect(contents.contents.map(\.type) == ["message/rfc822"])
            #expect(contents.contents.map(\.isUnread) == [true])
            #expect(contents.parts.allSatisfy { $0.headerProtection == nil })
        }
    }
}
