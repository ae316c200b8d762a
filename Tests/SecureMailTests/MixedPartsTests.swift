import OpenSSL
import PrivateFiles
import TestSupport
import Testing

@testable import SecureMail

@Suite("S/MIME inside multipart/mixed", .timeLimit(.minutes(10)))
struct MixedPartsTests: MailSuite {
    let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    /// A multipart/mixed entity.
    private func mixed(_ parts: [[UInt8]], boundary: String = "list", end: String = "--\r\n") -> [UInt8] {
        let start =
            "MIME-Version: 1.0\r\nSubject: x\r\nContent-Type: multipart/mixed; boundary=\"\(boundary)\"\r\n\r\n"
        return Array(start.utf8) + parts.flatMap { Array("--\(boundary)\r\n".utf8) + $0 + Array("\r\n".utf8) }
            + Array("--\(boundary)\(end)".utf8)
    }

    private let footer = Array("Content-Type: Text/Plain\r\n\r\nUnsubscribe at any time.\r\n".utf8)

    @Test(
        "The S/MIME part is opened and identified by its path, and a mailing list's footer is not part of the content"
    )
    func listFooter() throws {
        let binary = binary(try CMSEnvelope.encrypt(body, for: [identity.certificate], cipher: .aes128CBC))
        for message in [try signed(body), try encrypted(body), binary] {
            let opened = try open(mixed([message, footer]))
            #expect(try content(opened) == body)
            #expect(opened.part == "1")
            #expect(opened.otherParts == [MessagePart(path: "2", type: "text/plain", isMessage: false)])
            #expect(opened.header?["Subject"] == "x")
        }
        #expect(try open(try signed(body)).part == nil)
    }

    @Test("A part without headers is text, a second S/MIME part is not opened, and a banner may precede both")
    func order() throws {
        let opened = try open(
            mixed([Array("\r\nExternal mail".utf8), try signed(body), try encrypted(body)]))
        #expect(try content(opened) == body)
        #expect(opened.part == "2" && opened.layers.count == 1)
        #expect(
            opened.otherParts == [
                MessagePart(path: "1", type: "text/plain", isMessage: false),
                MessagePart(path: "3", type: "application/pkcs7-mime", isMessage: true),
            ])
    }

    @Test("Nested parts are found up to the limit of levels, and their paths have one number for each level")
    func levels() throws {
        var message = try signed(body)
        for level in 1...MailLimits.partLevels {
            message = mixed([footer, message], boundary: "level\(level)")
        }
        let opened = try open(message)
        #expect(try content(opened) == body)
        #expect(opened.part == Array(repeating: "2", count: MailLimits.partLevels).joined(separator: "."))
        #expect(opened.otherParts.map(\.path) == ["1", "2.1", "2.2.1", "2.2.2.1"])
        #expect(throws: CMSError(.overLimit, "")) { try open(mixed([message])) }
    }

    @Test("Parts are searched up to the limit, and one more is rejected")
    func partLimit() throws {
        let small = Array("\r\nx".utf8)
        let parts = [[UInt8]](repeating: small, count: MailLimits.parts - 1) + [try signed(body)]
        #expect(try open(mixed(parts)).part == "\(MailLimits.parts)")
        #expect(throws: CMSError(.overLimit, "")) { try open(mixed([small] + parts)) }
    }

    @Test(
        "A line that only begins with the boundary does not end a part, and trailing blanks are ignored"
    )
    func longerBoundary() throws {
        let message = String(decoding: try signed(body, boundary: "bx"), as: UTF8.self)
            .replacing("--bx", with: "--bx \t")
        let opened = try open(mixed([Array(message.utf8), footer], boundary: "b"))
        #expect(try content(opened) == body && opened.part == "1")
        // The signed text contains lines that resemble the delimiter of the signed message.
        let lines = Array("Content-Type: text/plain\r\n\r\n--bx\r\n--bx--\r\n--b -\r\n--b---\r\n".utf8)
        #expect(try content(try open(try signed(lines, boundary: "b"))) == lines)
        // The first closing delimiter ends the last part.
        #expect(try open(mixed([try signed(body)], end: "--  \r\n--list\r\n\r\nepilogue")).otherParts.isEmpty)
    }

    @Test("Parts inside an encryption or a signature are content and are not opened")
    func inside() throws {
        let entity = mixed([try signed(body), footer])
        let opened = try open(try encrypted(entity, .aes128GCM))
        #expect(try content(opened) == entity)
        #expect(opened.part == nil && opened.layers.count == 1 && opened.otherParts.isEmpty)
    }

    @Test("An altered S/MIME part is rejected, and a multipart message without an S/MIME part is unprotected")
    func refusals() throws {
        let altered = String(decoding: try signed(body), as: UTF8.self).replacing("Gr=C3", with: "gr=C3")
        #expect(throws: CMSError(.invalidSignature, "")) { try open(mixed([Array(altered.utf8), footer])) }
        #expect(throws: CMSError(.unprotected, "")) { try open(mixed([footer, footer])) }
        #expect(throws: CMSError(.unprotected, "")) {
            try open(
                mixed(
                    [footer, try signed(body)],
                    boundary: String(repeating: "b", count: MailLimits.boundary + 1)))
        }
    }
}
