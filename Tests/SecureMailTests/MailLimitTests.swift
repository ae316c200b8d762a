import Foundation
import OpenSSL
import PrivateFiles
import TestSupport
import Testing

@testable import SecureMail

@Suite("Limits of messages", .timeLimit(.minutes(10)))
struct MailLimitTests: MailSuite {
    let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    @Test("The limits have their documented values")
    func values() {
        #expect(MailLimits.headers == 262_144)
        #expect(MailLimits.fields == 1_000)
        #expect(MailLimits.parameters == 200)
        #expect(MailLimits.addresses == 1_000)
        #expect(MailLimits.layers == 8)
        #expect(MailLimits.boundary == 200)
        #expect(MailLimits.parts == 1_000)
        #expect(MailLimits.signatures == 1_000)
        #expect(MailLimits.partLevels == 4)
        #expect(MailLimits.messageLevels == 16)
        #expect(MailLimits.copies == 40)
        #expect(MailLimits.signature == 8_388_608)
        #expect(MailLimits.files == 100_000)
    }

    @Test("A source returns bytes up to its limit and throws on the next byte")
    func boundedSource() throws {
        struct Pieces: ByteSource {
            var rest: [[UInt8]]
            mutating func next() -> ArraySlice<UInt8> { rest.isEmpty ? [] : rest.removeFirst()[...] }
        }
        let pieces = Pieces(rest: [[1, 2, 3], [4, 5], [6]])
        var exact = BoundedSource(pieces, 6)
        #expect(try [exact.next(), exact.next(), exact.next(), exact.next()].map(\.count) == [3, 2, 1, 0])
        var less = BoundedSource(pieces, 5)
        #expect(try less.next().count == 3 && less.next().count == 2)
        #expect(throws: CMSError(.overLimit, "")) { try less.next() }
    }

    @Test("A detached signature above the limit is rejected although its structure is small")
    func hugeSignature() throws {
        // SignedData that declares 16 MiB of content. A detached signature has no content.
        let start: [UInt8] = [
            0x30, 0x80, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02, 0xA0, 0x80, 0x30,
            0x80,
            0x02, 0x01, 0x01, 0x31, 0x00, 0x30, 0x80, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01,
            0x07,
            0x01, 0xA0, 0x80, 0x04, 0x84, 0x01, 0x00, 0x00, 0x00,
        ]
        let signature = start + [UInt8](repeating: 0x41, count: MailLimits.signature + 65_536)
        let type = "multipart/signed; protocol=\"application/pkcs7-signature\"; boundary=b"
        let mail =
            Array("Content-Type: \(type)\r\n\r\n--b\r\n\r\nx\r\n--b\r\n".utf8)
            + Array("Content-Type: application/pkcs7-signature\r\n\r\n".utf8) + signature
        #expect(throws: CMSError(.overLimit, "")) { try open(mail) }
    }

    @Test("Headers are read up to the limit, and one more byte is rejected")
    func headers() throws {
        let rest = try signed(body)
        func mail(headers count: Int) throws -> [UInt8] {
            let end = try #require(rest.firstRange(of: Array("\r\n\r\n".utf8))).upperBound
            let line = Array("X-Fill: ".utf8)
            let fill = [UInt8](repeating: 0x78, count: count - end - line.count - 2)
            return line + fill + [0x0D, 0x0A] + rest
        }
        #expect(try content(try open(try mail(headers: MailLimits.headers))) == body)
        #expect(throws: CMSError(.overLimit, "")) { try open(try mail(headers: MailLimits.headers + 1)) }
    }

    @Test("A boundary at the limit is used, and an empty or longer one is rejected")
    func boundaries() throws {
        let longest = String(repeating: "b", count: MailLimits.boundary)
        #expect(try content(try open(try signed(body, boundary: longest))) == body)
        for boundary in ["", longest + "b"] {
            #expect(throws: CMSError(.malformed, "")) { try open(try signed(body, boundary: boundary)) }
        }
    }

    @Test("A header has up to 1,000 fields, and one more is rejected")
    func fields() throws {
        let rest = try encrypted(body)
        let own = try #require(try open(rest).header?.fields.count)
        func mail(_ count: Int) -> [UInt8] {
            Array((own..<count).map { "X-\($0): v\r\n" }.joined().utf8) + rest
        }
        #expect(MailLimits.fields == 1_000)
        #expect(try content(try open(mail(MailLimits.fields))) == body)
        #expect(throws: CMSError(.overLimit, "")) { try open(mail(MailLimits.fields + 1)) }
    }

    @Test("A field with as many lines as a header can contain is read")
    func manyLines() throws {
        let count = MailLimits.headers / 8
        let mail = Array(("To:" + String(repeating: " \r\n\tx\r\n", count: count - 200)).utf8)
        let header = try #require(try open(mail + (try encrypted(body))).header)
        #expect(header["To"]?.utf8.count == 2 * (count - 200) - 1)
    }

    @Test("A second Content-Type field and a second boundary are rejected")
    func ambiguousType() throws {
        let mail = String(decoding: try signed(body, boundary: "b"), as: UTF8.self)
        for field in ["Content-Type: text/plain\r\n", "content-type : multipart/mixed; boundary=c\r\n"] {
            #expect(throws: CMSError(.malformed, "")) { try open(Array((field + mail).utf8)) }
        }
        for parameter in ["boundary=c", "Boundary=\"c\"", "boundary*0=c", "boundary*=utf-8''c"] {
            let changed = mail.replacing("boundary=\"b\"", with: "boundary=\"b\"; \(parameter)")
            #expect(throws: CMSError(.malformed, "")) { try open(Array(changed.utf8)) }
        }
    }

    @Test("A header name has up to 100 bytes, and a line with a longer or invalid name is not a header")
    func headerNames() throws {
        let rest = try encrypted(body)
        for name in [String(repeating: "n", count: 100), "X-A_b.1", "X-Blank \t"] {
            #expect(try content(try open(Array("\(name): v\r\n".utf8) + rest)) == body)
        }
        for name in [String(repeating: "n", count: 101), "", "a b", "\u{FC}", "a\u{7F}"] {
            #expect(throws: CMSError(.noMessage, "")) { try open(Array("\(name): v\r\n".utf8) + rest) }
            #expect(throws: CMSError(.malformed, "")) {
                try open(Array("From: a\r\n\(name): v\r\n".utf8) + rest)
            }
        }
        // Such names begin other files, such as JSON, but RFC 5322 allows them.
        for name in ["a/b", "\"a\"", "X!"] {
            #expect(throws: CMSError(.noMessage, "")) { try open(Array("\(name): v\r\n".utf8) + rest) }
            #expect(try content(try open(Array("From: a\r\n\(name): v\r\n".utf8) + rest)) == body)
        }
    }

    @Test("A signature is valid if a chunk boundary splits the part's last line ending")
    func dividedLineEnd() throws {
        func mail(_ count: Int) throws -> [UInt8] {
            try signed(
                Array("Content-Type: text/plain\r\n\r\n".utf8) + [UInt8](repeating: 0x78, count: count))
        }
        let line = Array("x\r\n--keyshare".utf8)
        let end = try #require(try mail(100_000).firstRange(of: line)).lowerBound + 1
        // A piece of a line ends at the end of the file's second chunk.
        let divided = try mail(100_000 + 2 * OpenFile.chunk - 1 - end)
        #expect(divided[2 * OpenFile.chunk - 1] == 0x0D && divided[2 * OpenFile.chunk] == 0x0A)
        #expect(try open(divided).layers.count == 1)
    }

    @Test("A boundary in the middle of a long line does not end a part, even at the start of a chunk")
    func boundaryInsideLine() throws {
        func mail(_ count: Int) throws -> [UInt8] {
            let entity =
                Array("Content-Type: text/plain\r\n\r\n".utf8) + [UInt8](repeating: 0x78, count: count)
                + Array("--keyshare-boundary\r\nend".utf8)
            return try signed(entity)
        }
        let start = try #require(try mail(100_000).firstRange(of: Array("x--keyshare".utf8))).lowerBound + 1
        let divided = try mail(100_000 + 2 * OpenFile.chunk - start)
        #expect(divided[(2 * OpenFile.chunk)...].starts(with: "--keyshare".utf8))
        #expect(try open(divided).layers.count == 1)
    }

    @Test("A boundary in the middle of a long line before the first part does not begin a part")
    func boundaryInsidePreamble() throws {
        let mail = try signed(body, boundary: "b")
        let end = try #require(mail.firstRange(of: Array("\r\n\r\n".utf8))).upperBound
        // The line is read in pieces, and the second piece begins with the boundary.
        let line = [UInt8](repeating: 0x78, count: 2 * OpenFile.chunk - end)
        let preamble = line + Array("--b\r\nContent-Type: text/plain\r\n\r\nother\r\n".utf8)
        #expect(try content(try open(mail[..<end] + preamble + mail[end...])) == body)
    }

    @Test("The end of a body is recognized only at the start of a line")
    func endInsideLine() throws {
        let file = try UnnamedFile(in: scratch.path)
        let text = [UInt8](repeating: 0x78, count: OpenFile.chunk) + Array("--b\n--b\nrest".utf8)
        try file.write(text)
        var source = EncodedBody(try LineReader(file.descriptor), isBase64: false) {
            $0.starts(with: "--b".utf8)
        }
        var read: [UInt8] = []
        while let bytes = try Optional(source.next()), !bytes.isEmpty { read += bytes }
        #expect(read == text.dropLast("--b\nrest".utf8.count))
    }

    @Test("A header that is longer than a chunk keeps its complete value")
    func longHeader() throws {
        let value = String(repeating: "x", count: OpenFile.chunk + 1_000) + "end"
        let mail = Array("Subject: \(value)\r\n".utf8) + (try encrypted(body))
        #expect(try open(mail).header?["Subject"] == value)
    }

    @Test(
        "Content with malformed or too many headers is opened unchanged, because content may be any bytes")
    func contentHeaders() throws {
        let fill = String(repeating: "X-Header: value\r\n", count: 20_000)
        for text in ["From: a\r\nno header\r\n\r\nx", "From: a\r\n: x\r\n", fill + "\r\nx"] {
            let entity = Array(text.utf8)
            #expect(
                try content(try open(try encrypted(entity, .aes128GCM))).starts(with: entity.prefix(60_000)))
            #expect(try open(try encrypted(entity)).sha256 == Digest.sha256(entity))
        }
    }

    @Test("A file that begins with the digit 0 is text, because a CMS length has the long form")
    func leadingZero() throws {
        let mail = Array("0: v\r\n".utf8) + (try encrypted(body))
        #expect(try content(try open(mail)) == body)
        #expect(throws: CMSError(.noMessage, "")) { try open([0x30, 0x7F]) }
        #expect(throws: CMSError(.malformed, "")) { try open([0x30, 0x80]) }
    }

    @Test("An attachment of an unknown type is a message only if its name ends in .p7m")
    func unknownType() throws {
        let mail = String(decoding: try encrypted(body), as: UTF8.self)
        let type = try #require(mail.firstRange(of: /Content-Type: [^\r]*(?:\r\n [^\r]*)*/))
        for (name, isMessage) in [("smime.p7m", true), ("SMIME.P7M", true), ("smime.p7", false)] {
            let changed = mail.replacingCharacters(
                in: type, with: "Content-Type: application/octet-stream; name=\"\(name)\"")
            if isMessage {
                #expect(try content(try open(Array(changed.utf8))) == body)
            } else {
                #expect(throws: CMSError(.unprotected, "")) { try open(Array(changed.utf8)) }
            }
        }
    }

    @Test(
        "A signature without its content is malformed, and so is a message whose second part is not a signature"
    )
    func incompleteSignatures() throws {
        let mail = String(decoding: try signed(body), as: UTF8.self)
        let other = mail.replacing(
            "Type: application/pkcs7-signature", with: "Type: application/pgp-signature")
        #expect(throws: CMSError(.malformed, "")) { try open(Array(other.utf8)) }
        let base64 = try #require(
            mail.components(separatedBy: "\r\n\r\n").last?.components(separatedBy: "\r\n--keyshare").first)
        let der = try #require(Data(base64Encoded: base64, options: .ignoreUnknownCharacters))
        #expect(throws: CMSError(.malformed, "")) { try open(Array(der)) }
        let pgp = mail.replacing(
            "protocol=\"application/pkcs7-signature\"", with: "protocol=\"application/pgp-signature\"")
        #expect(throws: CMSError(.unprotected, "")) { try open(Array(pgp.utf8)) }
    }

    @Test("A signed message with a third part, or without a second one, is malformed")
    func numberOfParts() throws {
        let mail = String(decoding: try signed(body, boundary: "b"), as: UTF8.self)
        let third = "Content-Type: text/plain\r\n\r\nother\r\n--b--\r\n"
        for damage in ["--b\r\n", "--b-\r\n--b\r\n", "--b--\r\n--b\r\n"] {
            let wide = mail.replacing("--b--\r\n", with: damage + third)
            #expect(throws: CMSError(.malformed, "")) { try open(Array(wide.utf8)) }
        }
        let start = try #require(mail.range(of: "--b\r\n", options: .backwards))
        let closed = mail.replacingCharacters(in: start, with: "--b--\r\n")
        #expect(throws: CMSError(.malformed, "")) { try open(Array(closed.utf8)) }
        // Truncated messages lack the last delimiter, and some programs add text after it.
        for end in ["", "--b--\r\nepilogue\r\n"] {
            let changed = mail.replacing("--b--\r\n", with: end)
            #expect(try content(try open(Array(changed.utf8))) == body)
        }
    }
}
