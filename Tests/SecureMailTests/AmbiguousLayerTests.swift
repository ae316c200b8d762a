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
        "Content-Transfer-Encoding: 7bit\r\nContent-Transfer-Encoding: 8bit\r\n",
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
        arguments: fields)
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

    @Test("S/MIME inside S/MIME is ambiguous if OpenSSL would find other Base64 in it")
    func hiddenBase64() throws {
        let der = try CMSEnvelope.encrypt(body, for: [identity.certificate], cipher: .aes128CBC)
        for (lines, isAmbiguous) in [("\nxMIIC\n", false), ("\nMIIC\n", true)] {
            let inner = binary(der) + Array(lines.utf8)
            #expect((try read(try encrypted(inner)).ambiguity != nil) == isAmbiguous)
            #expect((try read(mixed(inner)).ambiguity != nil) == isAmbiguous)
        }
    }

    @Test("A multipart/signed message whose signature contains content of its own is malformed")
    func signatureWithContent() throws {
        _ = try scratch.write(body, as: "content")
        try scratch.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k.pem -out c.pem \
              -subj /CN=Signer -days 30
            sign="openssl cms -sign -binary -in content -outform DER -signer c.pem -inkey k.pem"
            $sign -out detached.der && $sign -nodetach -out whole.der
            """)
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
}
