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

    @Test("A message whose boundary or protocol programs could read differently is not accepted as signed")
    func ambiguousBoundaries() throws {
        let message = try message()
        let boundary = "boundary=\"keyshare-boundary\""
        #expect(message.contains(boundary))
        for other in [
            "boundary=keyshare-boundary (x)", boundary + " (x)", boundary + "x", "x=a (; \(boundary)",
            "boundary=\"keyshare-boundary \"",
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
        #expect(try failure(plain) == .malformed)
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
