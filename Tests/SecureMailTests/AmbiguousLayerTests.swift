import Foundation
import OpenSSL
import PrivateFiles
import TestSupport
import Testing

@testable import SecureMail

@Suite("S/MIME inside S/MIME that programs read differently", .timeLimit(.minutes(10)))
struct AmbiguousLayerTests: MailSuite {
    let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private func read(_ mail: [UInt8]) throws -> MessageContents {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(mail)
        return try MessageReader(scratch: scratch.path) { recipient in
            recipient.isHolder(of: identity.certificate) ? identity : nil
        }.read(file.descriptor)
    }

    private func mixed(_ part: [UInt8], boundary: String = "outside") -> [UInt8] {
        Array("Content-Type: multipart/mixed; boundary=\(boundary)\r\n\r\n--\(boundary)\r\n".utf8) + part
            + Array("\r\n--\(boundary)--\r\n".utf8)
    }

    /// Fields before those of a signed message that lead some programs to another message.
    static let fields = [
        "X: (\r\n Content-Type: multipart/signed; boundary=evil\r\n", "\"Content-Type\": multipart/mixed\r\n",
        "X: \(String(repeating: "a", count: 1_020))\r\n", "X : a\r\n", "X: a\rY: b\r\n",
        "MIME-Version: 2.0\r\n", "Content-Transfer-Encoding: quoted-printable\r\n",
        "Content-Transfer-Encoding: 7bit\r\nContent-Transfer-Encoding: 8bit\r\n", "From x\r\n",
    ]

    @Test("A message is ambiguous if the header of the S/MIME message inside it is", arguments: fields)
    func layers(_ fields: String) throws {
        for (field, isAmbiguous) in [("X: a\r\n", false), (fields, true)] {
            let inner = Array(field.utf8) + (try signed(body))
            for message in [
                try encrypted(inner), try signed(inner, boundary: "around"), try encrypted(encrypted(inner)),
            ] {
                for (mail, owner) in [(message, "the message"), (mixed(message), "part 1")] {
                    let contents = try read(mail)
                    #expect(contents.parts.count == 1 && contents.parts[0].failure == nil)
                    #expect((contents.ambiguity != nil) == isAmbiguous, "\(field.debugDescription)")
                    if isAmbiguous { #expect(contents.ambiguity?.contains("content of \(owner)") == true) }
                }
            }
        }
    }

    @Test(
        "Another S/MIME part with an ambiguous header is malformed, but the message itself is not ambiguous",
        arguments: fields.filter { !$0.hasPrefix("From ") })
    func otherParts(_ fields: String) throws {
        let forwarded = Array("Content-Type: message/rfc822\r\n\r\n".utf8)
        for (field, isAmbiguous) in [("X: a\r\n", false), (fields, true)] {
            let inner = Array(field.utf8) + (try signed(body))
            for mail in [
                mixed(forwarded + inner), mixed(forwarded + mixed(inner, boundary: "inside")),
                mixed(forwarded + (try encrypted(inner))), try signed(mixed(inner), boundary: "around"),
                try encrypted(mixed(try encrypted(inner))),
            ] {
                let contents = try read(mail)
                let part = try #require(contents.parts.last)
                #expect(
                    (part.failure as? CMSError)?.code == (isAmbiguous ? .malformed : nil),
                    "\(field.debugDescription)")
                #expect(part.sha256 == Digest.sha256(body) && !part.isUnread)
                #expect(
                    contents.ambiguity == nil && contents.parts.dropLast().allSatisfy { $0.failure == nil })
            }
        }
    }

    @Test("A forwarded S/MIME message with an ambiguous header can be opened by its path")
    func openingByPath() throws {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(
            mixed(Array("Content-Type: message/rfc822\r\n\r\nX : a\r\n".utf8) + (try signed(body))))
        let opened = try MessageOpener(scratch: scratch.path) { _ in nil }
            .open(part: "1.1", of: file.descriptor)
        #expect(opened.sha256 == Digest.sha256(body))
    }

    @Test("S/MIME inside a message is ambiguous if OpenSSL would find other Base64 in it")
    func hiddenBase64() throws {
        let der = try CMSEnvelope.encrypt(body, for: [identity.certificate], cipher: .aes128CBC)
        let digits = "MIICAAYJKoZIhvcN"
        for (digits, isAmbiguous) in [(digits.dropLast(), false), (digits[...], true)] {
            let inner = binary(der) + Array("\n\(digits)\n".utf8)
            for mail in [inner, mixed(inner), try encrypted(inner), try signed(inner, boundary: "around")] {
                let contents = try read(mail)
                #expect(contents.parts.count == 1)
                #expect((contents.ambiguity?.contains("Base64") == true) == isAmbiguous)
            }
        }
    }

    @Test("A multipart/signed message whose signature contains content of its own is malformed")
    func signatureWithContent() throws {
        try scratch.writeSignatures(of: body)
        for (form, count) in [("detached", 1), ("whole", 0)] {
            let type = "application/pkcs7-signature"
            let mail =
                Array("Content-Type: multipart/signed; protocol=\"\(type)\"; boundary=b\r\n\r\n--b\r\n".utf8)
                + body + Array("\r\n--b\r\nContent-Type: \(type)\r\n".utf8)
                + Array("Content-Transfer-Encoding: base64\r\n\r\n".utf8)
                + MailText.base64(try scratch.read("\(form).der")) + Array("\r\n--b--\r\n".utf8)
            let part = try #require(try read(mail).parts.first)
            #expect(part.layers.count == count, "\(form)")
            #expect((part.failure as? CMSError)?.code == (count == 0 ? .malformed : nil))
        }
    }

    /// Fields for the names of an S/MIME part, and whether the names are those of S/MIME.
    static let names = [
        ("name=smime.p7m", "attachment", true), ("name=SMIME.P7S", "inline; filename=\"a b.p7z\"", true),
        ("name=\"\"", "attachment; filename=a.p7c", true), ("x=y", "inline; filename=smime.p7s; x=y", true),
        ("name=invoice.html", "attachment", false), ("name=a.p7s", "inline; filename=invoice.html", false),
        ("name=a.p7s; filename=b.html", "inline", false), ("name=b.html; filename=a.p7s", "inline", false),
        ("name=a.p7s; name=b.html", "inline", false), ("name=b.html; name=a.p7s", "inline", false),
        ("name=smime", "inline", false), ("name=a.p7s.html", "inline", false),
        ("name=a.p7s", "inline; filename=b.html (x)", false), ("name=\"a.p7s\" b", "inline", false),
        ("x=y", "inline; filename=a.p7s; filename*=utf-8''a.p7s", true),
        ("x=y", "inline; filename*=utf-8''M%C3%A4rz%2Ep7s", true),
        ("x=y", "inline; filename=a.p7s; filename*=utf-8''a.html", false),
        ("x=y", "inline; filename=\"=?utf-8?B?YS5wN3M=?=\"", true),
        ("x=y", "inline; filename=\"=?utf-8?B?YS5odG1s?=\"", false),
        ("x=y", "inline; filename*1=.p7s; filename*0*=utf-8''a", true),
        ("x=y", "inline; filename*0=a.html; filename*0=.p7s", false),
        ("x=y", "inline; filename*0=a.html; filename*2=.p7s", false),
        ("x=y", "inline; filename*0=a.p7s; filename*1=.html", false),
        ("x=y", "inline; filename=\"=?iso-8859-1?Q?M=E4rz.p7s?=\"", true),
        ("x=y", "inline; filename*=utf-8''a.html%00.p7s", false),
        ("x=y", "inline; filename=\"=?utf-8?Q?a=22;_filename=3D=22b.html=22;_x=3D=22.p7s?=\"", false),
        ("x=y", "inline; x=\"=?utf-8?Q?a=22;_filename=3D=22b.html?=\"; filename=a.p7s", false),
        ("x=y", "inline; =?utf-8?B?ZmlsZW5hbWU9aW52b2ljZS5odG1s?=", false),
        ("x=y", "=?utf-8?Q?attachment=3Bfilename=3Dinvoice.html?=", false),
        ("x=y", "inline; x=\"\u{600}=?utf-8?Q?a=22;_filename=3D=22b.html?=\"; filename=a.p7s", false),
        ("x=y", "inline; filename=\"=?koi8-r?B?0s/Ty8/bztnKLnA3cw==?=\"", true),
        ("x=y", "inline; filename=\"=?utf8?Q?a.html=00.p7s?=\"", false),
        ("x=y", "inline; filename=\"=?utf-8?B?YS5odG1sAA?=.p7s\"", false),
        ("x=y", "inline; filename=\"=?utf-8*en?Q?a.html=00?=.p7s\"", false),
        ("x=y", "inline; filename*=UTF-7''x.html%2BAAA-.p7s", false),
        ("x=y", "inline; filename*0*=UTF-7''x.html%2BAAA-; filename*1=.p7s", false),
        ("x=y", "inline; filename*0*=iso-8859-2''x; filename*1*=.p7s", true),
        ("x=y", "inline; filename*0=\"UTF-7''x.html+AAA-\"; filename*1*=.p7s", false),
        ("x=y", "inline; filename=\"=?UTF7?Q?x.html+AAA-.p7s?=\"", false),
    ]

    @Test("The file name of S/MIME and of its signature must end like one of S/MIME", arguments: names)
    func fileNames(_ parameters: String, _ disposition: String, _ isAllowed: Bool) throws {
        let fields = "; \(parameters)\r\nContent-Disposition: \(disposition)\r\n"
        let der = try CMSEnvelope.encrypt(body, for: [identity.certificate], cipher: .aes128CBC)
        let opaque = Array(
            String(decoding: base64(der), as: UTF8.self)
                .replacing("pkcs7-mime\r\n", with: "pkcs7-mime\(fields)").utf8)
        for mail in [opaque, mixed(opaque), try encrypted(opaque)] {
            let contents = try read(mail)
            #expect(contents.parts.first?.sha256 == Digest.sha256(body))
            #expect((contents.ambiguity == nil) == isAllowed)
            if !isAllowed { #expect(contents.ambiguity?.contains("file name") == true) }
        }
        let part = try #require(try read(signature(fields)).parts.first)
        #expect((part.failure as? CMSError)?.code == (isAllowed ? nil : .malformed))
        #expect(part.layers.count == (isAllowed ? 1 : 0))
        #expect(try open(signature(fields)).layers.count == 1)
    }

    @Test("A signature without Base64 is malformed if OpenSSL would find Base64 in it")
    func signatureWithBase64() throws {
        let mail = String(decoding: try signed(body), as: UTF8.self)
        let encoding = try #require(mail.ranges(of: "Transfer-Encoding: base64").last)
        let start = try #require(mail[encoding.upperBound...].firstRange(of: "\r\n\r\n")).upperBound
        let end = try #require(mail[start...].firstRange(of: "\r\n--")).lowerBound
        let der = try #require(
            Data(base64Encoded: String(mail[start..<end]), options: .ignoreUnknownCharacters))
        let header = mail[..<encoding.lowerBound] + "Transfer-Encoding: binary"
        for (digits, isMalformed) in [("AAYJKoZIhvc", false), ("AAYJKoZIhvcN", true)] {
            let hidden = "\nMIIC\(digits)\n"
            let bytes =
                Array((header + mail[encoding.upperBound..<start]).utf8) + der
                + Array((hidden + mail[end...]).utf8)
            let error = try #require(try read(bytes).parts.first).failure as? CMSError
            // The bytes after the structure are malformed, too.
            #expect((error?.reason.contains("Base64") == true) == isMalformed, "\(digits)")
        }
    }

    /// A signed message whose signature has other fields after its media type, and those in `before`.
    private func signature(_ fields: String, before: String = "") throws -> [UInt8] {
        let mail = String(decoding: try signed(body), as: UTF8.self)
        let type = "Content-Type: application/pkcs7-signature"
        let own = "; name=\"smime.p7s\"\r\n"
        let disposition = "Content-Disposition: attachment; filename=\"smime.p7s\"\r\n"
        #expect(mail.contains(type + own) && mail.contains(disposition))
        return Array(
            mail.replacing(disposition, with: "").replacing(type + own, with: before + type + fields).utf8)
    }

    @Test(
        "A signature is malformed if programs could read its header differently",
        arguments: [
            ("X: a\r\n", "\r\n", true), ("MIME-Version: 1.0\r\n", "\r\n", true),
            ("Content-Transfer-Encoding: BASE64\r\n", "\r\n", true),
            ("Content-Transfer-Encoding: binary\r\n", "\r\n", false), ("", " (x)\r\n", false),
            ("MIME-Version: 2.0\r\n", "\r\n", false), ("X : a\r\n", "\r\n", false),
        ])
    func signatureHeaders(_ before: String, _ fields: String, _ isExact: Bool) throws {
        let part = try #require(try read(try signature(fields, before: before)).parts.first)
        #expect((part.failure as? CMSError)?.code == (isExact ? nil : .malformed))
        #expect(part.layers.count == (isExact ? 1 : 0))
    }
}
