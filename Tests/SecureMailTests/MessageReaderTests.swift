import Diagnostics
import Foundation
import OpenSSL
import PrivateFiles
import TestSupport
import Testing

@testable import SecureMail

@Suite("Reading all parts of messages", .timeLimit(.minutes(10)))
struct MessageReaderTests: MailSuite {
    let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private func read(_ mail: [UInt8], hasKey: Bool = true) throws -> MessageContents {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(mail)
        return try MessageReader(scratch: scratch.path, keepsContent: true) { recipient in
            hasKey && recipient.isHolder(of: identity.certificate) ? identity : nil
        }.read(file.descriptor)
    }

    private func multipart(_ type: String, _ parts: [[UInt8]], boundary: String = "list") -> [UInt8] {
        let start =
            "From: list@mail.example\r\nContent-Type: multipart/\(type); boundary=\"\(boundary)\"\r\n\r\n"
        return Array(start.utf8) + parts.flatMap { Array("--\(boundary)\r\n".utf8) + $0 + Array("\r\n".utf8) }
            + Array("--\(boundary)--\r\n".utf8)
    }

    private func forwarded(_ mail: [UInt8]) -> [UInt8] {
        Array("Content-Type: message/rfc822\r\n\r\n".utf8) + mail
    }

    private func content(_ part: MessageContents.ProtectedPart) throws -> [UInt8] {
        let file = try #require(part.content)
        try file.rewind()
        return try OpenFile.read(file.descriptor, named: "content")
    }

    private let footer = Array("Content-Type: text/plain\r\n\r\nfooter\r\n".utf8)

    @Test("No further part is opened after 1,000 signatures")
    func signatureLimit() throws {
        let part = try signed(try signed(body, boundary: "inner"))
        let parts = try read(multipart("mixed", Array(repeating: part, count: 501))).parts
        #expect(parts.count == 501)
        #expect(parts.dropLast().allSatisfy { $0.layers.count == 2 && $0.failure == nil })
        #expect(parts.last?.layers.count == 0)
        #expect((parts.last?.failure as? CMSError)?.code == .overLimit)
    }

    @Test("Header fields are converted to the Stream-Safe Text Format, also after decoding")
    func marks() throws {
        let text = String(repeating: "\u{301}\u{316}", count: 10_000)
        for field in ["Content-Type: text/a\(text)", "Content-Type: text/plain; a\(text)=b; a\(text)x=b"] {
            let mail = Array("\(field)\r\nSubject: a\(text)\r\n\r\nx\r\n".utf8)
            let contents = try read(mail)
            #expect(contents.header?["Subject"]?.isStreamSafe == true)
        }
        let word = "=?utf-8?B?\(Data(text.utf8).base64EncodedString())?="
        #expect(MailText.decoded(headerValue: word).isStreamSafe)
    }

    @Test("A message that is S/MIME as a whole has one part without a path, whose content is numbered")
    func whole() throws {
        for mail in [try signed(body), try encrypted(body), try encrypted(try signed(body))] {
            let contents = try read(mail)
            #expect(
                contents.parts.map(\.path) == [nil] && contents.parts[0].header?["From"] == "a@mail.example")
            #expect(try content(contents.parts[0]) == body)
            #expect(contents.parts[0].sha256 == Digest.sha256(body))
            #expect(contents.contents.map(\.path) == ["1"] && contents.contents.map(\.container) == [0])
            #expect(contents.unprotected.isEmpty)
        }
        let mixed = multipart("mixed", [footer, footer])
        #expect(try read(try signed(mixed)).contents.map(\.path) == ["1", "2"])
    }

    @Test("Every S/MIME part is opened separately, and the parts outside are unprotected")
    func severalParts() throws {
        let other = MailWriter.textEntity("Other\r\n")
        let contents = try read(
            multipart("mixed", [footer, try signed(body), try encrypted(other), footer]))
        #expect(contents.parts.map(\.path) == ["2", "3"])
        #expect(try contents.parts.map(content) == [body, other])
        #expect(contents.unprotected.map(\.path) == ["1", "4"])
        #expect(contents.contents.map(\.path) == ["1", "2.1", "3.1", "4"])
        #expect(contents.parts.allSatisfy { !$0.isForwarded && $0.header?["From"] == "list@mail.example" })
    }

    @Test(
        "S/MIME parts inside other multipart types are found",
        arguments: ["alternative", "related", "digest", "x-unknown", "report"])
    func otherTypes(_ type: String) throws {
        let contents = try read(multipart(type, [try signed(body), footer]))
        #expect(contents.parts.map(\.path) == ["1"] && contents.unprotected.map(\.path) == ["2"])
    }

    @Test(
        "A multipart is a choice if mail programs show only one of its parts, but not inside the signature",
        arguments: [
            ("alternative", true), ("related", true), ("appledouble", true), ("header-set", true),
            ("multilingual", true), ("x-mixed-replace", true), ("mixed", false), ("digest", false),
            ("report", false), ("parallel", false), ("x-unknown", false),
        ])
    func choices(_ type: String, _ isChoice: Bool) throws {
        let outside = try read(multipart(type, [try signed(body), footer]))
        #expect(outside.parts.map(\.choices) == [isChoice ? [1] : []])
        #expect(outside.unprotected.map(\.choices) == [isChoice ? [1] : []])
        let inside = try read(try signed(multipart(type, [footer, footer])))
        #expect(inside.parts.map(\.choices) == [[]] && inside.unprotected.isEmpty)
    }

    @Test("A forwarded message has its own path and its own header")
    func forwards() throws {
        let contents = try read(
            multipart(
                "mixed",
                [
                    footer, forwarded(try signed(body)),
                    forwarded(multipart("mixed", [try encrypted(body)], boundary: "in")),
                ]))
        #expect(contents.parts.map(\.path) == ["2.1", "3.1"])
        #expect(contents.parts.allSatisfy { $0.isForwarded })
        #expect(contents.parts.map { $0.header?["From"] } == ["a@mail.example", "list@mail.example"])
        #expect(contents.unprotected.map(\.path) == ["1"])
    }

    @Test("A forwarded message is opened if its path is given; otherwise the error contains its path")
    func openingOnePart() throws {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(multipart("mixed", [footer, forwarded(try signed(body))]))
        let opener = MessageOpener(scratch: scratch.path) { _ in nil }
        let error = #expect(throws: CMSError(.unprotected, "")) { try opener.open(file.descriptor) }
        #expect(error?.reason.contains("only part 2.1") == true)
        let opened = try opener.open(part: "2.1", of: file.descriptor)
        #expect(opened.sha256 == Digest.sha256(body) && opened.part == "2.1" && opened.layers.count == 1)
        #expect(opened.header?["From"] == "a@mail.example" && opened.otherParts.map(\.path) == ["1"])
        #expect(throws: CMSError(.noSuchPart, "")) { try opener.open(part: "2", of: file.descriptor) }
        let wrong = String(decoding: try signed(body), as: UTF8.self).replacing("Gr=C3", with: "gr=C3")
        let altered = try UnnamedFile(in: scratch.path)
        try altered.write(multipart("mixed", [forwarded(Array(wrong.utf8))]))
        #expect(throws: CMSError(.invalidSignature, "")) {
            try opener.open(part: "1.1", of: altered.descriptor)
        }
    }

    @Test("A signed message inside a signed message is opened separately, and refers to its container")
    func nested() throws {
        let contents = try read(
            try signed(multipart("mixed", [footer, forwarded(try signed(body))]), boundary: "outer"))
        #expect(contents.parts.map(\.path) == [nil, "2.1"])
        #expect(contents.parts.map(\.container) == [nil, 0])
        #expect(contents.contents.map(\.container) == [0, 1] && contents.unprotected.isEmpty)
    }

    @Test("A part that cannot be opened keeps its error, and the other parts are opened")
    func failures() throws {
        let wrong = String(decoding: try signed(body), as: UTF8.self).replacing("Gr=C3", with: "gr=C3")
        let contents = try read(
            multipart("mixed", [try encrypted(body), Array(wrong.utf8), try signed(body)]), hasKey: false)
        #expect(
            (contents.parts[0].failure as? CMSError)?.code == .missingKey && contents.parts[0].isEncrypted)
        #expect(contents.parts[0].content == nil && contents.parts[0].sha256 == nil)
        let outcomes = contents.parts.dropFirst().map { part -> CMSSignerReport.Outcome? in
            guard case .signed(let reports, _, _)? = part.layers.first else { return nil }
            return reports.first?.outcome
        }
        #expect(outcomes == [.mismatch, .sound])
    }

    @Test("Levels and parts above the limits are reported, and parts before them are kept")
    func limits() throws {
        var mail = try signed(body)
        for level in 1...MailLimits.messageLevels {
            mail = multipart("mixed", [footer, mail], boundary: "level\(level)")
        }
        #expect(try read(mail).parts.count == 1 && read(mail).limit == nil)
        let deeper = try read(multipart("mixed", [try signed(body), mail]))
        #expect(deeper.parts.map(\.path) == ["1"] && deeper.limit?.contains("levels") == true)
        let small = Array("\r\nx".utf8)
        let many = [try signed(body)] + [[UInt8]](repeating: small, count: MailLimits.parts)
        let wide = try read(multipart("mixed", many))
        #expect(wide.parts.count == 1 && wide.limit == "the message has more than \(MailLimits.parts) parts")
        #expect(wide.contents.count == MailLimits.parts)
        var layers = body
        for _ in 0..<MailLimits.layers { layers = try signed(layers, boundary: "b\(layers.count)") }
        #expect((try read(layers).parts[0].failure as? CMSError)?.code == .overLimit)
    }

    @Test("An unprotected message has no parts, and a file that is not a message is an error")
    func others() throws {
        let plain = try read(MailHeader([.init("From", "a")]).encoded + body)
        #expect(plain.parts.isEmpty && plain.unprotected.map(\.path) == ["1"])
        #expect(throws: CMSError(.noMessage, "")) { try read(Array("no mail\n".utf8)) }
        #expect(throws: CMSError(.noMessage, "")) { try read([]) }
    }

    // MARK: - Header fields

    private func protection(
        _ payload: String, outer: String = "From: a@mail.example\r\nSubject: x\r\n", isEncrypted: Bool = false
    ) throws -> HeaderProtection? {
        let entity = Array((payload + "\r\nbody\r\n").utf8)
        let mail = String(decoding: try isEncrypted ? encrypted(entity) : signed(entity), as: UTF8.self)
        let start = try #require(mail.range(of: "MIME-Version"))
        return try read(Array((outer + mail[start.lowerBound...]).utf8)).parts.first?.headerProtection
    }

    @Test("Protected fields that equal the outer ones have no differences, with every form of protection")
    func equalFields() throws {
        let fields = "From: a@mail.example\r\nSubject: x\r\n"
        for (parameter, isEncrypted, form) in [
            ("hp=\"clear\"", false, HeaderProtection.Form.clear), ("hp=cipher", true, .cipher),
            ("hp=cipher", false, .clear), ("protected-headers=\"v1\"", false, .draft),
        ] {
            let found = try protection(
                fields + "Content-Type: text/plain; \(parameter)\r\n", isEncrypted: isEncrypted)
            #expect(found?.form == form && found?.differences == [])
            #expect(found?.header.fields.map(\.name) == ["From", "Subject"])
        }
        let wrapped = try protection("Content-Type: message/rfc822\r\n\r\n" + fields)
        #expect(wrapped?.form == .wrapped && wrapped?.differences == [])
        #expect(try protection("Content-Type: text/plain\r\n") == nil)
        // The value of another parameter does not count as the parameter hp.
        #expect(try protection("Content-Type: text/plain; x=\"hp=clear\"\r\n") == nil)
    }

    @Test(
        "A message that is the whole content does not protect header fields if it is declared as forwarded or has hp",
        arguments: [
            ("", HeaderProtection.Form.wrapped), ("; forwarded=no", .wrapped), ("; forwarded=Yes", nil),
            ("; hp=\"clear\"", .clear), ("; forwarded=no; hp=clear", .clear), ("; hp=x", .wrapped),
        ])
    func forwardedContent(_ parameters: String, _ form: HeaderProtection.Form?) throws {
        let entity =
            "From: a@mail.example\r\nSubject: x\r\nContent-Type: message/rfc822\(parameters)\r\n\r\n"
            + "From: b@mail.example\r\n\r\nhello\r\n"
        let contents = try read(try signed(Array(entity.utf8)))
        let found = contents.parts.first?.headerProtection
        #expect(found?.form == form && contents.unprotected.isEmpty)
        #expect(found?.header["From"] == form.map { $0 == .wrapped ? "b@mail.example" : "a@mail.example" })
        #expect(contents.contents.map(\.type) == ["text/plain"])
    }

    @Test("Changed, removed, added and hidden fields are distinguished")
    func differences() throws {
        let changed = try protection(
            "From: b@mail.example\r\nSubject: =?utf-8?Q?x?=\r\nTo: c@mail.example\r\n"
                + "Content-Type: text/plain; hp=\"clear\"\r\n",
            outer: "Received: by mta\r\nFrom: a@mail.example\r\nSubject: x\r\nReply-To: evil@mail.example\r\n"
        )
        #expect(
            changed?.differences == [
                .init(.changed, "From", inner: "b@mail.example", outer: "a@mail.example"),
                .init(.removed, "To", inner: "c@mail.example", outer: nil),
                .init(.added, "Reply-To", inner: nil, outer: "evil@mail.example"),
            ])
        let recorded = "HP-Outer: Subject: [...]\r\nHP-Outer: From: a@mail.example\r\n"
        let hidden = "From: a@mail.example\r\nSubject: secret\r\nKeywords: k\r\n" + recorded
        let payload = hidden + "Content-Type: text/plain; hp=\"cipher\"\r\n"
        let outer = "From: a@mail.example\r\nSubject: [...]\r\n"
        let found = try protection(payload, outer: outer, isEncrypted: true)
        #expect(found?.differences.map(\.kind) == [.hidden, .hidden])
        #expect(found?.differences.map(\.name) == ["Subject", "Keywords"])
        // The outer subject is neither the protected one nor the one that the sender recorded.
        let altered = try protection(
            payload, outer: "From: a@mail.example\r\nSubject: other\r\n", isEncrypted: true)
        #expect(altered?.differences.first?.kind == .changed)
        // HP-Outer does not count without an encryption.
        #expect(try protection(payload, outer: outer)?.differences.map(\.kind) == [.changed, .removed])
    }

    @Test("A message in the form of the examples of RFC 9788, C.3.1, hides only its subject")
    func baselineExample() throws {
        let fields = [
            "Message-ID: <example@mail.example>", "From: Alice <a@mail.example>", "To: Bob <b@mail.example>",
            "Date: Sat, 20 Feb 2021 10:09:02 -0500", "User-Agent: Example 1.0",
        ]
        func lines(_ lines: [String]) -> String { lines.map { $0 + "\r\n" }.joined() }
        let recorded = (["Subject: [...]"] + fields).map { "HP-Outer: " + $0 }
        let found = try protection(
            lines(
                ["MIME-Version: 1.0", "Content-Transfer-Encoding: 7bit", "Subject: baseline"] + fields
                    + recorded + ["Content-Type: text/plain; charset=\"utf-8\"; hp=\"cipher\""]),
            outer: lines(["Received: by mta", "Subject: [...]"] + fields), isEncrypted: true)
        #expect(found?.form == .cipher)
        #expect(
            found?.differences == [.init(.hidden, "Subject", inner: "baseline", outer: "[...]")])
        #expect(found?.header["User-Agent"] == "Example 1.0")
    }

    @Test("The text of a legacy display is marked")
    func legacyDisplay() throws {
        let entity = Array(
            "Content-Type: text/plain; hp=\"clear\"; hp-legacy-display=\"1\"\r\n\r\nSubject: x\r\n\r\nHi\r\n"
                .utf8)
        #expect(try read(try signed(entity)).contents.map(\.hasLegacyDisplay) == [true])
        #expect(try read(try signed(body)).contents.map(\.hasLegacyDisplay) == [false])
    }

    @Test("A long header field is folded, and a field that is already folded is written unchanged")
    func foldedFields() {
        let address = "person@mail.example"
        let long = [String](repeating: address, count: 60).joined(separator: ", ")
        let folded = [String](repeating: address, count: 60).joined(separator: ",\r\n\t")
        func lines(_ value: String) -> [Substring] {
            String(decoding: MailHeader([.init("To", value)]).encoded, as: UTF8.self).split(separator: "\r\n")
        }
        #expect(lines(long).count > 1 && lines(long).allSatisfy { $0.utf8.count <= 78 })
        #expect(lines(long).joined() == "To: " + long)
        #expect(lines(folded).joined(separator: "\r\n") == "To: " + folded)
    }

    @Test(
        "Written header protection is read again, and hides only the subject, comments and keywords outside")
    func writtenProtection() throws {
        let header = MailHeader([
            .init("From", "a@mail.example"), .init("To", "b@mail.example,\r\n c@mail.example"),
            .init("Subject", MailText.headerValue("Gr\u{FC}\u{DF}e")), .init("Keywords", "k"),
        ])
        let (clear, signedEntity) = MailWriter.textEntity("Hi\n", protecting: header, isEncrypted: false)
        let mail = try MailWriter.signed(
            clear, signedEntity, as: identity, chain: [], boundary: "b", scratch: scratch.path)
        let signed = try #require(try read(mail).parts.first?.headerProtection)
        #expect(signed.form == .clear && signed.differences == [] && signed.header["Keywords"] == "k")
        let (outer, entity) = MailWriter.textEntity("Hi\n", protecting: header, isEncrypted: true)
        let encrypted = try MailWriter.encrypted(
            outer, entity, for: [identity.certificate], cipher: .aes128GCM, transport: .pkcs1)
        let contents = try read(encrypted)
        #expect(contents.header?["Subject"] == HeaderProtection.hiddenSubject)
        #expect(contents.header?["Keywords"] == nil)
        let hidden = try #require(contents.parts.first?.headerProtection)
        #expect(hidden.form == .cipher && hidden.differences.map(\.kind) == [.hidden, .hidden])
        #expect(hidden.differences.map(\.inner) == ["Gr\u{FC}\u{DF}e", "k"])
        #expect(contents.contents.map(\.hasLegacyDisplay) == [true])
        let text = String(decoding: try content(contents.parts[0]), as: UTF8.self)
        #expect(text.hasSuffix("\r\n\r\nSubject: Gr=C3=BC=C3=9Fe\r\nKeywords: k\r\n\r\nHi\r\n"))
    }
}
