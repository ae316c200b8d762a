import Foundation
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

    @Test("Parts are found up to the nesting limit, and their paths have one number for each level")
    func levels() throws {
        var message = try signed(body)
        for level in 1...MailLimits.partLevels {
            message = mixed([footer, message], boundary: "level\(level)")
        }
        let opened = try open(message)
        #expect(try content(opened) == body)
        #expect(opened.part == Array(repeating: "2", count: MailLimits.partLevels).joined(separator: "."))
        #expect(opened.otherParts.map(\.path) == ["1", "2.1", "2.2.1", "2.2.2.1"])
        #expect(opened.partLimit == nil)
        #expect(throws: CMSError(.overLimit, "")) { try open(mixed([message])) }
        // A valid message next to parts that are nested too deep.
        let beside = try open(mixed([message, try encrypted(body)]))
        #expect(try content(beside) == body)
        #expect(beside.part == "2" && beside.partLimit?.contains("\(MailLimits.partLevels) levels") == true)
        #expect(
            beside.otherParts.contains(MessagePart(path: "1.2.2.1", type: "text/plain", isMessage: false)))
        #expect(beside.otherParts.last?.type == "multipart/mixed")
    }

    @Test("Parts above the limit are not searched, and the parts found before it are kept")
    func partLimit() throws {
        let small = Array("\r\nx".utf8)
        let parts = [[UInt8]](repeating: small, count: MailLimits.parts - 1) + [try signed(body)]
        #expect(try open(mixed(parts)).part == "\(MailLimits.parts)")
        #expect(try open(mixed(parts)).partLimit == nil)
        #expect(throws: CMSError(.overLimit, "")) { try open(mixed([small] + parts)) }
        let opened = try open(mixed([try signed(body)] + parts))
        #expect(try content(opened) == body)
        #expect(opened.part == "1" && opened.otherParts.count == MailLimits.parts - 1)
        #expect(opened.partLimit == "the message has more than \(MailLimits.parts) parts")
        // The limit counts the parts of all levels.
        let nested = mixed([mixed(Array(parts.dropFirst()), boundary: "inner"), small])
        #expect(try open(nested).part == "1.\(MailLimits.parts - 1)" && open(nested).partLimit != nil)
        #expect(throws: CMSError(.overLimit, "")) { try open(mixed([mixed(parts, boundary: "inner")])) }
    }

    @Test("A valid S/MIME part is opened among malformed parts, which are listed as unprotected")
    func oddNeighbours() throws {
        let signature = "Content-Type: multipart/signed; protocol=\"application/pkcs7-signature\""
        let whole = String(decoding: try signed(body), as: UTF8.self)
        let mime = "Content-Type: application/pkcs7-mime\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        let odd = [
            ("Content-Type: text/html\r\nno header\r\n\r\nx", "text/plain"),
            ("Content-Type: nothing\r\n\r\nx", "text/plain"),
            (signature + "\r\n\r\nx", "multipart/signed"),
            (signature + "; boundary=\"\"\r\n\r\nx", "multipart/signed"),
            (signature + "; boundary=b\r\n\r\n--b\r\n\r\nx\r\n", "multipart/signed"),
            (whole.replacing("/pkcs7-signature", with: "/pgp-signature"), "multipart/signed"),
            (mime + "MIIB!", "application/pkcs7-mime"), (mime, "application/pkcs7-mime"),
            (mime + "MAsGCSqGSIb3DQEHAQ==", "application/pkcs7-mime"),
            ("Content-Type: multipart/mixed\r\n\r\nx", "multipart/mixed"),
            ("X: " + String(repeating: "x", count: MailLimits.headers) + "\r\n\r\nx", "text/plain"),
        ]
        for (text, type) in odd {
            let part = Array(
                text.replacing("protocol=\"application/pgp", with: "protocol=\"application/pkcs7").utf8)
            for (parts, number) in [([part, try encrypted(body)], 1), ([try encrypted(body), part], 2)] {
                let opened = try open(mixed(parts))
                #expect(try content(opened) == body)
                #expect(opened.part == "\(3 - number)" && opened.partLimit == nil)
                #expect(
                    opened.otherParts.map(\.path) == ["\(number)"] && opened.otherParts.map(\.type) == [type])
            }
            #expect(throws: CMSError.self) { try open(mixed([part, footer])) }
        }
        #expect(
            try open(mixed([Array(odd[6].0.utf8), try signed(body)])).otherParts.map(\.isMessage) == [false])
    }

    @Test("The error of the first malformed S/MIME part is reported if no part can be opened")
    func onlyMalformed() throws {
        let header = "Content-Type: application/pkcs7-mime\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        // Data (RFC 5652, 4), which is neither signed nor encrypted.
        let data = Array((header + "MAsGCSqGSIb3DQEHAQ==").utf8)
        let text = Array((header + "!").utf8)
        #expect(throws: CMSError(.unsupported(oid: "1.2.840.113549.1.7.1"), "")) {
            try open(mixed([data, text]))
        }
        #expect(throws: CMSError(.malformed, "")) { try open(mixed([footer, text, data])) }
    }

    @Test("A part that exceeds the CMS limits does not prevent another part from being opened")
    func partBeyondLimits() throws {
        // SignedData with a value that is nested in 64 others.
        let start: [UInt8] = [
            0x30, 0x80, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02, 0xA0, 0x80,
        ]
        let deep = binary(start + Array(repeating: [0x30, 0x80], count: 64).flatMap(\.self))
        #expect(throws: CMSError(.overLimit, "")) { try open(deep) }
        let opened = try open(mixed([deep, try signed(body)]))
        #expect(try content(opened) == body)
        #expect(opened.part == "2" && opened.otherParts.map(\.type) == ["application/pkcs7-mime"])
    }

    @Test("A valid part never replaces an altered part, an invalid signature or a missing key")
    func noReplacement() throws {
        let sound = try signed(body)
        let wrong = String(decoding: sound, as: UTF8.self).replacing("Gr=C3", with: "gr=C3")
        #expect(throws: CMSError(.invalidSignature, "")) { try open(mixed([Array(wrong.utf8), sound])) }
        var der = try CMSEnvelope.encrypt(body, for: [identity.certificate], cipher: .aes128GCM)
        #expect(throws: CMSError(.missingKey, "")) { try open(mixed([base64(der), sound]), hasKey: false) }
        der[der.count - 20] ^= 1
        #expect(throws: CMSError(.altered, "")) { try open(mixed([base64(der), sound])) }
    }

    @Test(
        "A signature in Base64 ends at a line that begins with two hyphens, after which only empty lines are allowed"
    )
    func signatureEnds() throws {
        let mail = String(decoding: try signed(body, boundary: "b"), as: UTF8.self)
        let end = try #require(mail.range(of: "--b--", options: .backwards))
        for close in ["--b--", "--b--  \t", "--b \t", "--b", "--bx", "--", "--b-", "-----"] {
            for rest in ["", "\r\n\r\n", "\r\nAn epilogue that is not Base64!\r\n", "\r\nQUJD\r\n"] {
                let message = Array((mail[..<end.lowerBound] + close + rest).utf8)
                let isClose = ["--b--", "--b--  \t"].contains(close)
                let isDelimiter = close.hasPrefix("--b") && close.dropFirst(3).allSatisfy(\.isWhitespace)
                if !isClose, rest.count > (isDelimiter ? 0 : 4) {
                    // The delimiter begins a third part, or mail programs could show the text.
                    #expect(throws: CMSError(.malformed, ""), "\(close)") { try open(message) }
                } else {
                    #expect(try content(try open(message)) == body, "\(close)")
                }
            }
        }
        // Data after such a line is not read, and a hyphen inside the data is damage.
        let start = try #require(mail.range(of: "\r\n\r\n", options: .backwards)).upperBound
        let second = try #require(mail.range(of: "\r\n", range: start..<end.lowerBound)).upperBound
        for line in ["--b", "--b \t", "--bx", "--", "-", "x-"] {
            let message = mail[..<second] + line + "\r\n" + mail[second...]
            #expect(throws: CMSError(.malformed, "")) { try open(Array(message.utf8)) }
        }
    }

    @Test("A binary signature ends only at its delimiter")
    func binarySignature() throws {
        let mail = String(decoding: try signed(body, boundary: "b"), as: UTF8.self)
        let start = try #require(mail.range(of: "\r\n\r\n", options: .backwards)).upperBound
        let end = try #require(mail.range(of: "\r\n--b--", options: .backwards)).lowerBound
        let der = try #require(
            Data(base64Encoded: String(mail[start..<end]), options: .ignoreUnknownCharacters))
        let headers = mail[..<start].replacing("Content-Transfer-Encoding: base64", with: "X-Nothing: 1")
        // The line is inside the structure, so the structure is damaged but not truncated.
        let divided = Array(der.prefix(der.count - 12)) + Array("\n--bx\n123456".utf8)
        #expect(throws: CMSError(.invalidSignature, "")) {
            try open(Array(headers.utf8) + divided + Array("\r\n--b--\r\n".utf8))
        }
        #expect(try content(try open(Array(headers.utf8) + Array(der) + Array("\r\n--b--\r\n".utf8))) == body)
    }

    @Test(
        "A line that only begins with the boundary does not end a part, and trailing spaces are ignored"
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
