import Foundation
import OpenSSL
import PrivateFiles
import TestSupport
import Testing

@testable import SecureMail

@Suite("Line ends and parameters that programs read differently", .timeLimit(.minutes(10)))
struct LineEndTests: MailSuite {
    let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private func read(_ mail: [UInt8]) throws -> MessageContents {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(mail)
        return try MessageReader(scratch: scratch.path) { recipient in
            recipient.isHolder(of: identity.certificate) ? identity : nil
        }.read(file.descriptor)
    }

    private func read(_ mail: String) throws -> MessageContents { try read(Array(mail.utf8)) }

    private func header(_ text: String) throws -> MailHeader? {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(Array(text.utf8))
        var reader = try LineReader(file.descriptor)
        return try MailHeader.read(&reader)
    }

    /// A multipart/mixed message with the boundary `b`.
    private func mixed(
        _ parts: [String], header: String = "", preamble: String = "", epilogue: String = ""
    ) -> String {
        "From: a@mail.example\r\n\(header)Content-Type: multipart/mixed; boundary=b\r\n\r\n\(preamble)"
            + parts.map { "--b\r\n\($0)\r\n" }.joined() + "--b--\r\n\(epilogue)"
    }

    /// An S/MIME message as text.
    private func message() throws -> String { String(decoding: try signed(body), as: UTF8.self) }

    /// The error of the first part.
    private func failure(_ mail: String) throws -> CMSError.Code? {
        (try read(mail).parts.first?.failure as? CMSError)?.code
    }

    @Test(
        "A CR without LF and a NUL in a header are found, also at the ends of values",
        arguments: [
            ("X: a\rFrom: b@m.example\r\n", true), ("X:\rFrom: b@m.example\r\n", true),
            ("X: a\r\r\n", true), ("X: a\r\n \rFrom: b@m.example\r\n", true),
            ("X: a\r\n b\r\r\n", true), ("X: a\0b\r\n", true), ("X: \0\r\n", true),
            ("X: a\r\n\tb\r\n", false), ("X: a\n b\n", false),
            // No common program ends lines at these characters.
            ("X: a\u{B}From: b\r\n", false), ("X: a\u{C}From: b\r\n", false),
            ("X: a\u{85}From: b\r\n", false),
        ])
    func headers(_ fields: String, _ isStray: Bool) throws {
        let found = try #require(try header(fields + "Y: c\r\n\r\n"))
        #expect((found.lineAmbiguity != nil) == isStray)
        #expect(found.userFields.lineAmbiguity == found.lineAmbiguity)
        if isStray { #expect(found.isAmbiguous) }
    }

    @Test("A CR without LF is found at the end of a chunk, and a CR LF that a chunk divides is not")
    func dividedLines() throws {
        let start = "X: "
        let filler = String(repeating: "a", count: OpenFile.chunk - start.utf8.count - 1)
        for (end, isStray) in [("\r\n\r\n", false), ("\rFrom: b\r\n\r\n", true)] {
            let ambiguity = try header(start + filler + end)?.lineAmbiguity
            #expect(ambiguity?.contains("a CR or NUL") == isStray)
        }
    }

    @Test(
        "A CR without LF in the header of the message, of a multipart or of an S/MIME part makes it ambiguous"
    )
    func ambiguousHeaders() throws {
        let message = try message()
        let stray = "X: a\rFrom: b@m.example\r\n"
        #expect(try read(message).ambiguity == nil)
        #expect(try read(stray + message).ambiguity?.contains("header of the message") == true)
        #expect(try read(mixed([message])).ambiguity == nil)
        #expect(try read(mixed([message], header: stray)).ambiguity?.contains("the message") == true)
        #expect(try read(mixed([stray + message])).ambiguity?.contains("header of part 1") == true)
        let inner = mixed([message]).replacing("boundary=b", with: "boundary=c").replacing("--b", with: "--c")
        #expect(try read(mixed([stray + inner])).ambiguity?.contains("header of part 1") == true)
        // The header of a forwarded message is not that of the message.
        let forwarded = "Content-Type: message/rfc822\r\n\r\n" + stray + message
        let contents = try read(mixed([message, forwarded]))
        #expect(contents.ambiguity == nil && contents.parts.map(\.isForwarded) == [false, true])
        #expect(contents.parts.last?.header?.lineAmbiguity != nil)
    }

    @Test("A CR without LF outside the parts of a message or next to a delimiter makes it ambiguous")
    func ambiguousParts() throws {
        let message = try message()
        let text = "Content-Type: text/plain\r\n\r\n"
        let html = "--b\rContent-Type: text/html\r\r<b>x</b>"
        #expect(
            try read(mixed([text + "x\ry", message], preamble: "x\r\n", epilogue: "y\n")).ambiguity == nil)
        for mail in [
            mixed([message], preamble: "x\r\(html)\r\n"), mixed([message], preamble: "\(html)\r\n"),
            mixed([message], epilogue: "x\ry"), mixed([text + "x\r\(html)", message]),
            mixed([text + "x\r\n\(html)", message]), mixed([message]).replacing("--b\r\n", with: "--b\r\r\n"),
            mixed([text + "x\r--b--\r", message]),
        ] { #expect(try read(mail).ambiguity != nil, "\(mail.debugDescription)") }
    }

    @Test("A delimiter after a CR is found in a long line, wherever a chunk divides it")
    func longLines() throws {
        let message = try message()
        let start = mixed([]).replacing("--b--\r\n", with: "--b\r\n\r\n")
        for shift in 0...5 {
            // The line with the filler begins a new chunk if everything before it fills one.
            let before = String(repeating: "-", count: OpenFile.chunk - start.utf8.count - 2) + "\r\n"
            let filler = String(repeating: "a", count: OpenFile.chunk - shift)
            let mail = start + before + filler + "\r--b\rX: y\r\n--b\r\n" + message + "\r\n--b--\r\n"
            #expect(try read(mail).ambiguity != nil, "\(shift)")
            let plain = start + before + filler + "\r-b\rX: y\r\n--b\r\n" + message + "\r\n--b--\r\n"
            #expect(try read(plain).ambiguity == nil, "\(shift)")
        }
        let blanks = String(repeating: " ", count: 2 * OpenFile.chunk)
        #expect(
            try read(mixed(["\r\nx\r\n--b\(blanks)\rContent-Type: text/html\r\r", message])).ambiguity != nil)
    }

    @Test("A signed message with a CR without LF outside its parts is malformed")
    func signedParts() throws {
        let message = try message()
        let delimiter = "--keyshare-boundary"
        #expect(try failure(message) == nil)
        let first = try #require(message.range(of: delimiter + "\r\n"))
        func inserting(_ text: String) -> String {
            message.replacingCharacters(in: first.lowerBound..<first.lowerBound, with: text)
        }
        #expect(try failure(inserting("x\r\n")) == nil)
        for mail in [
            inserting("x\r\(delimiter)\rContent-Type: text/html\r\r<b>x</b>\r\(delimiter)--\r\r\n"),
            inserting("x\ry\r\n"), message + "x\ry",
            message.replacing(
                "Content-Type: application/pkcs7-signature",
                with: "X: a\rY: b\r\nContent-Type: application/pkcs7-signature"),
            message.replacing("\(delimiter)\r\n", with: "\(delimiter)\r\r\n"),
        ] { #expect(try failure(mail) == .malformed, "\(mail.debugDescription)") }
    }

    @Test("A message whose boundary programs could read differently is not accepted as signed")
    func ambiguousBoundaries() throws {
        let message = try message()
        let boundary = "boundary=\"keyshare-boundary\""
        #expect(message.contains(boundary))
        for other in [
            "boundary=keyshare-boundary (x)", boundary + " (x)", boundary + "x", "x=a (; \(boundary)",
            "boundary=\"keyshare-boundary \"",
            // Other parameters in which programs find another boundary, or none.
            #"x="a\"; boundary=c; y="; \#(boundary)"#, #"x="a\\"; \#(boundary); y="; boundary=c; z=""#,
            "x y=1; \(boundary)", "*=1; \(boundary)", "=1; \(boundary)", "; \(boundary)", "x=; \(boundary)",
            "x=\r\n boundary=c; \(boundary)", "x=\"a;\r\n boundary=c\"; \(boundary)", "x=a\r\n ; \(boundary)",
            "boundary; \(boundary)", "x=\"a\" b; \(boundary)", "x=a,b; \(boundary)", "x=a b; \(boundary)",
            "type=text/html; \(boundary)", "start=<a@m.example>; \(boundary)", "x=\u{85}; \(boundary)",
            "x=a@b; \(boundary)", "x=a/b; \(boundary)", "\u{212A}=1; \(boundary)",
        ] {
            let mail = message.replacing(boundary, with: other)
            #expect(try failure(mail) == .malformed, "\(other)")
            #expect(throws: CMSError(.malformed, ""), "\(other)") { try open(Array(mail.utf8)) }
            let outer = mixed([message]).replacing(
                "boundary=b", with: other.replacing("keyshare-boundary", with: "b"))
            #expect(try read(outer).parts.isEmpty, "\(other)")
        }
        let plain = message.replacing("\"application/pkcs7-signature\"", with: "application/pkcs7-signature")
        #expect(plain != message)
        // The protocol is before the boundary.
        #expect(try failure(plain) == .malformed)
        for other in [
            boundary + ";", boundary + " ; ", "x=\"a;b\";\r\n\t\(boundary)",
            "\(boundary); type=text/html; x-y.z*0=\"a b\"",
            "\(boundary); protocol=application/pkcs7-signature",
        ] {
            #expect(try failure(message.replacing(boundary, with: other)) == nil, "\(other)")
        }
    }

    @Test(
        "A media type with a comment or blanks makes S/MIME and its parts ambiguous",
        arguments: [
            "multipart/signed (a/b)", "(x) multipart/signed", "multipart / signed", "multipart/signed",
        ])
    func inexactTypes(type: String) throws {
        let changed = try message().replacing("multipart/signed", with: type)
        #expect((try failure(changed) == nil) == (type == "multipart/signed"))
        let inexact = type.replacing("multipart/signed", with: "application/pkcs7-mime")
            .replacing("multipart / signed", with: "application / pkcs7-mime")
        let mail = String(decoding: try encrypted(body), as: UTF8.self)
            .replacing("application/pkcs7-mime", with: inexact)
        #expect((try read(mail).ambiguity == nil) == (type == "multipart/signed"))
    }

    @Test(
        "A header is ambiguous if some programs find another field in it, or its end",
        arguments: [
            ("X : a", true), ("X\t: a", true), ("X: a", false), ("X\": a", true),
            ("X: " + String(repeating: "a", count: 995), false),
            ("X: " + String(repeating: "a", count: 996), true),
            (" " + String(repeating: "a", count: 998), true),
            ("X: (\r\n \"Boundary\" =a)", true), ("X: (\r\n a; boundary=a)", true),
            ("X: (a)\r\n boundary=a", false), ("X: (\r\n at the boundary; a=b", false),
            ("X: (\r\n Content-Type: a/b)", false),
        ])
    func unclearFields(_ line: String, _ isAmbiguous: Bool) throws {
        let found = try #require(try header("Y: b\r\n\(line)\r\nZ: c\r\n\r\n"))
        #expect((found.lineAmbiguity != nil) == isAmbiguous)
        guard !line.hasPrefix(" ") else { return }
        #expect((try read("Y: b\r\n\(line)\r\n" + (try message())).ambiguity != nil) == isAmbiguous)
    }

    @Test(
        "A header is ambiguous if OpenSSL ignores its first lines, but not the lines that continue them",
        arguments: [
            ("X: (\r\n Content-Type: a/b)", true), ("X: (\r\n\t\"content-type\": a/b)", true),
            ("X: (\r\n \u{B}Content-Type\u{C}: a/b)", true), ("X: (\r\n content-filter: a", false),
            ("X: (\r\nY: (\r\n Content-Type: a/b", true), ("X: (a) (\r\n Content-Type: a/b", true),
            ("X: (a)\r\n Content-Type: a/b", false), ("X: (\r\n a (Content-Type: a/b", false),
            ("X: (\r\nY: b\r\n Content-Type: a/b", false),
        ])
    func ignoredLines(_ lines: String, _ isAmbiguous: Bool) throws {
        #expect((try header(lines + "\r\n\r\n")?.lineAmbiguity != nil) == isAmbiguous)
    }

    @Test(
        "A header that ends with other line ends than its last line is ambiguous, because Email::MIME continues it",
        arguments: [
            ("X: a\n\r\n", true), ("X: a\r\nY: b\n\r\n", true), ("X: a\nY: b\r\n\r\n", false),
            ("X: a\r\n\n", false), ("X: a\n\n", false),
        ])
    func otherEnds(_ text: String, _ isAmbiguous: Bool) throws {
        #expect((try header(text + "Z: c\r\n\r\n")?.lineAmbiguity != nil) == isAmbiguous)
    }

    @Test("A field with more than 200 parameters is ambiguous")
    func manyParameters() throws {
        for (count, isAmbiguous) in [(200, false), (201, true)] {
            let parameters = (0..<count).map { ";\r\n a\($0)=b" }.joined()
            let found = try #require(try header("Content-Type: text/plain\(parameters)\r\n\r\n"))
            #expect(found.contentType?.isAmbiguous == isAmbiguous)
            #expect((found.fileNames == nil) == isAmbiguous)
        }
    }

    @Test("A header with many semicolons or lines in Content-Type is read in a time proportional to its size")
    func longTypes() throws {
        for text in [String(repeating: ";", count: 200_000), String(repeating: ";\r\n ", count: 60_000)] {
            let found = try #require(try header("Content-Type: text/plain\(text)\r\n\r\n"))
            #expect(found.contentType?.isAmbiguous == false)
            let divided = try header("Content-Type: text/plain\(text)a=b\r\n\r\n")
            #expect(divided?.contentType?.isAmbiguous == true)
        }
    }

    @Test("A delimiter inside a line makes a message ambiguous")
    func delimitersInsideLines() throws {
        let message = try message()
        let text = "Content-Type: text/plain\r\n\r\n"
        for count in [1, 132, 1_000, 5_000, 200_000] {
            let line = String(repeating: "x", count: count) + "--b\r\n\r\ny\r\n"
            for mail in [mixed([text + line, message]), mixed([message], preamble: line)] {
                #expect(try read(mail).ambiguity != nil, "\(count)")
                #expect(try read(mail.replacing("x--b", with: "x-b")).ambiguity == nil, "\(count)")
            }
            let signed = message.replacing("keyshare-boundary", with: "b")
            let start = try #require(signed.range(of: "--b\r\n")).lowerBound
            let preceded = signed[..<start] + line + signed[start...]
            #expect(try failure(String(preceded)) == .malformed, "\(count)")
        }
    }

    @Test("S/MIME in Base64 is ambiguous if a line is too long for mail, because OpenSSL skips it")
    func longBase64() throws {
        let mail = String(decoding: try encrypted([UInt8](repeating: 0x61, count: 500)), as: UTF8.self)
        let start = try #require(mail.range(of: "\r\n\r\n")).upperBound
        let (head, digits) = (String(mail[..<start]), mail[start...].filter { !$0.isNewline })
        for (count, isAmbiguous) in [(998, false), (999, true)] {
            let lines = [digits.prefix(count), digits.dropFirst(count)].map { $0 + "\r\n" }
            #expect((3...1_000).contains(lines[1].utf8.count))
            #expect((try read(head + lines.joined()).ambiguity != nil) == isAmbiguous)
        }
    }

    @Test(
        "A message with another MIME version than 1.0 is ambiguous, because some programs read it as text",
        arguments: [
            ("1.0", false), ("1.0 (Mac OS X Mail 16.0)", false), ("(x) 1.(y)0", false), ("2.0", true),
            ("", true),
            ("1.0.1", true), ("1.0 2.0", true), ("1.0 (", true),
        ])
    func otherVersions(version: String, isAmbiguous: Bool) throws {
        #expect((try read("MIME-Version: \(version)\r\n" + (try message())).ambiguity != nil) == isAmbiguous)
    }

    @Test("Bare CMS is ambiguous if some programs find a message in it")
    func messageInsideCMS() throws {
        let der = try CMSEnvelope.encrypt(body, for: [identity.certificate], cipher: .aes128CBC)
        let pem = Array("-----BEGIN CMS-----\n".utf8) + MailText.base64(der)
        // OpenSSL reads 1,023 bytes at once. The blanks extend beyond a chunk.
        let filler = String(repeating: "x", count: 1_023 * (OpenFile.chunk / 1_023))
        let type = "Content-Type" + String(repeating: " ", count: 900) + ": multipart/signed"
        #expect(try read(der).ambiguity == nil)
        for (after, isAmbiguous) in [
            ("", false), ("text: a\n", false), (" \u{B}\"content-type\u{C} : application/pkcs7-mime\n", true),
            ("Content-Type: text/plain\n", false), ("\nContent-Type: multipart/signed\n", false),
            ("x Content-Type: multipart/signed\n", false), (filler + "\(type)\n", true),
            ("x\(filler)\(type)\n", false),
        ] {
            let mail = pem + Array(("-----END CMS-----\n" + after).utf8)
            #expect((try read(mail).ambiguity != nil) == isAmbiguous, "\(after.suffix(40))")
        }
    }

    @Test("Signed content with a header is not a message inside bare CMS")
    func headerInsideCMS() throws {
        for (text, isFound) in [
            ("Content-Type: text/plain\r\nX: multipart/signed\r\n\r\n", false),
            ("Content-Type: multipart/signed\r\n", false), ("\nContent-Type: multipart/signed\r\n", true),
            ("\n\0Content-Type: a\nContent-Type: multipart/signed\n", false),
        ] {
            let file = try UnnamedFile(in: scratch.path)
            try file.write([0x30, 0x82, 0x01, 0x00] + Array(text.utf8))
            #expect(try HiddenMessage.isInsideCMS(file.descriptor) == isFound, "\(text.debugDescription)")
        }
    }

    @Test("Text with a colon before the first part makes a message ambiguous, because Email::MIME shows it")
    func preamble() throws {
        let message = try message()
        for (text, isAmbiguous) in [("This is S/MIME.\r\n", false), ("Pay: 9999\r\n", true)] {
            #expect((try read(mixed([message], preamble: text)).ambiguity != nil) == isAmbiguous)
            let start = try #require(message.range(of: "--keyshare-boundary")).lowerBound
            let mail = message[..<start] + text + message[start...]
            #expect((try failure(String(mail)) == .malformed) == isAmbiguous)
            #expect(try read(mixed([message], epilogue: text)).ambiguity == nil)
        }
    }

    @Test("Only the first line of a file or of a forwarded message can be that of a mailbox file")
    func mailboxLines() throws {
        let lines = "From a@m.example Sat Nov 28 07:00:00 2026\r\n"
        let mail = try message()
        #expect(try read(lines + mail).ambiguity == nil)
        #expect(try read(lines + mail).parts.map(\.layers.count) == [1])
        #expect(try header("X: a\r\n\r\n")?.lineAmbiguity == nil)
        #expect(try header(lines + "X: a\r\n\r\n")?.lineAmbiguity?.contains("mailbox file") == true)
        for (line, isAmbiguous) in [("", false), (lines, true), ("From x\r\n", true)] {
            let inside = mixed([line + mail])
            let nested = "Content-Type: multipart/mixed; boundary=inside\r\n\r\n--inside\r\n\(line + mail)"
            for mail in [inside, mixed([nested + "\r\n--inside--"])] {
                #expect((try read(mail).ambiguity != nil) == isAmbiguous)
            }
            let forwarded = try read("Content-Type: message/rfc822\r\n\r\n" + line + mail)
            #expect(forwarded.ambiguity == nil && forwarded.parts.map { $0.failure == nil } == [true])
            let type = "Content-Type: application/pkcs7-signature"
            #expect(mail.contains(type))
            #expect(
                try failure(mail.replacing(type, with: line + type)) == (isAmbiguous ? .malformed : nil))
        }
    }

    @Test("A mailbox file with more than one message is malformed")
    func mailboxes() throws {
        let line = "From a@m.example Sat Nov 28 07:00:00 2026\r\n"
        let mail = try message()
        for text in ["", "\r\n", " \(line)", "\r\n>\(line)", "\r\n" + mail] {
            #expect(try read(line + mail + text).parts.count == 1)
        }
        #expect(try read(mail + "\r\n" + line + mail).parts.count == 1)
        for start in ["", line, line + mail, line + mail + "\r\n"] {
            let several = line + start + line + mail
            #expect(throws: CMSError(.malformed, "")) { try read(several) }
        }
        #expect(throws: CMSError(.malformed, "")) { try read(line + "X: a\n\nFrom b\n") }
    }

    @Test("A media type with a letter outside ASCII is not that of S/MIME, although its lower-case form is")
    func otherLetters() throws {
        let mail = String(decoding: try encrypted(body), as: UTF8.self)
        #expect(try read(mail).parts.count == 1)
        #expect(try read(mail.replacing("/pkcs7-mime", with: "/p\u{212A}cs7-mime")).parts.isEmpty)
        let signature = String(decoding: try signed(body), as: UTF8.self)
            .replacing("protocol=\"application/pk", with: "protocol=\"application/p\u{212A}")
        #expect(signature.contains("\u{212A}"))
        #expect(try failure(signature) == .malformed)
    }

    @Test("An S/MIME message without Base64 is ambiguous if OpenSSL would find Base64 in it")
    func hiddenBase64() throws {
        let der = try CMSEnvelope.encrypt(body, for: [identity.certificate], cipher: .aes128CBC)
        func ambiguity(_ lines: String, encoding: String = "binary") throws -> String? {
            // In an attack, the lines are inside the structure.
            let mail =
                "Content-Type: application/pkcs7-mime\r\nContent-Transfer-Encoding: \(encoding)\r\n\r\n"
            return try read(Array(mail.utf8) + der + Array(lines.utf8)).ambiguity
        }
        let digits = "AAYJKoZIhvcN"
        let many = "AGCSqGSIb3DQEH" + String(repeating: "A", count: 60)
        let oneByOne = "AGCSqGSIb3DQEH".map { "\($0)\n" }.joined()
        for lines in [
            "\nMIIC\(digits)\n", "\n M I\tIC\r\n\(digits)\n", "\nMI\(many)-", "x\nMIAGCSqGSIb3DQEH==",
            "\nM\nIIC\(digits)\n", "\nAAA\nM\n\nI\n" + oneByOne, "\nMIQAAAIABgkqhkiG\n",
            "\nPxCCAgAGCSqGSIb3\n", "\nMIICAB8GCSqGSIb3\n", "\nP4CAEIICAAYJKoZI\n", "\nMH4GCSqGSIb3DQEH\n",
        ] {
            #expect(try ambiguity(lines)?.contains("Base64") == true, "\(lines)")
            #expect(try ambiguity(lines, encoding: "8bit") != nil)
        }
        // The reader returns long lines in pieces.
        for count in [70_000, 200_000] {
            let blanks = String(repeating: " ", count: count)
            #expect(try ambiguity("\nMIIC\n\(blanks)\(digits)\n") != nil)
            #expect(try ambiguity("\nMIIC\n\(blanks)x!\(digits)\n") == nil)
        }
        for lines in [
            "\nMIME-Version: 1.0\n", "\nxMIIC\(digits)\n", "\nMII\(digits)\n", "\nMIIC\(digits)!\n",
            "\nMI\nx!\nAA\(digits)\n", "\nMIICAAAAAAAAAAAA\n", "\nMINUTES OF THE BOARD MEETING\n",
            "\nPython and Perl and Pascal\n", "\nPxGCAgAGCSqGSIb3\n", "",
        ] {
            #expect(try ambiguity(lines) == nil, "\(lines)")
        }
    }

    @Test("Different transfer encodings of an S/MIME message make it ambiguous")
    func severalEncodings() throws {
        let mail = String(decoding: try encrypted(body), as: UTF8.self)
        #expect(try read("Content-Transfer-Encoding: BASE64\r\n" + mail).ambiguity == nil)
        #expect(try read("Content-Transfer-Encoding: 7bit\r\n" + mail).ambiguity != nil)
    }

    @Test(
        "S/MIME in an encoding that its media type does not allow is ambiguous",
        arguments: ["quoted-printable", "x-uuencode", "base64 (x)"])
    func otherEncodings(encoding: String) throws {
        let field = "Content-Transfer-Encoding: "
        let encrypted = String(decoding: try encrypted(body), as: UTF8.self)
        #expect(encrypted.contains("\(field)base64"))
        let mail = encrypted.replacing("\(field)base64", with: field + encoding)
        #expect(try read(mail).ambiguity?.contains("transfer encoding") == true)
        let signed = try message()
        #expect(try read("\(field)\(encoding)\r\n" + signed).ambiguity?.contains("encoding") == true)
    }

    @Test("A Content-Type that divides nothing because it is ambiguous is named as the reason")
    func undivided() throws {
        let mail = mixed([try message()]).replacing("; boundary", with: "; x; boundary")
        #expect(try read(mail).ambiguity?.contains("Content-Type of the message") == true)
    }

    @Test("A long Content-Type is ambiguous, because OpenSSL reads it in pieces")
    func longContentType() throws {
        for (count, isAmbiguous) in [(900, false), (1_100, true)] {
            let name = String(repeating: "a", count: count)
            let found = try header("Content-Type: a/b; name=\(name)\r\n\r\n")
            #expect((found?.lineAmbiguity != nil) == isAmbiguous)
            let folded = try header("Content-Type: a/b;\r\n name=\(name)\r\n\r\n")
            #expect((folded?.lineAmbiguity != nil) == isAmbiguous)
        }
    }

    @Test("Only the exact protocol of S/MIME makes a signed message S/MIME")
    func protocols() throws {
        let name = "application/pkcs7-signature"
        for (other, isSigned) in [
            ("application/x-pkcs7-signature", true), ("text/evil-pkcs7-signature", false),
        ] {
            let mail = try message().replacing("protocol=\"\(name)\"", with: "protocol=\"\(other)\"")
            #expect(try read(mail).parts.count == (isSigned ? 1 : 0))
        }
    }

    @Test(
        "A file name that programs could read differently neither declares S/MIME nor makes a part harmless")
    func ambiguousNames() throws {
        let der = base64(try CMSEnvelope.encrypt(body, for: [identity.certificate], cipher: .aes128CBC))
        for (name, count) in [
            ("\"x y.p7m\"", 1), ("x.p7m", 1), ("x.html (y).p7m", 0), ("\"x.html\" .p7m", 0),
        ] {
            let mail = String(decoding: der, as: UTF8.self).replacing(
                "application/pkcs7-mime", with: "application/octet-stream; name=\(name)")
            #expect(try read(mail).parts.count == count, "\(name)")
        }
        for (name, isInert) in [("\"x y.txt\"", true), ("x.html y.txt", false), ("x.html (y).txt", false)] {
            let text = "Content-Type: text/plain; name=\(name)\r\n\r\nx"
            #expect(try read(mixed([text])).unprotected.map(\.isInert) == [isInert], "\(name)")
        }
    }
}
