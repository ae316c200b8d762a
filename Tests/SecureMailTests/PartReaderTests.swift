import Foundation
import PrivateFiles
import TestSupport
import Testing

@testable import SecureMail

@Suite("Dividing messages into parts", .timeLimit(.minutes(10)))
struct PartReaderTests: MailSuite {
    let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    /// The parts of a text, and the reason why programs could find others.
    private func parts(_ text: [UInt8]) throws -> (parts: [[UInt8]], ambiguity: String?) {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(text)
        var reader = try PartReader(try LineReader(file.descriptor), "b", scratch: scratch.path)
        var parts: [[UInt8]] = []
        while reader.hasNext {
            let part = try reader.next()
            try part.rewind()
            var bytes: [UInt8] = []
            while let more = try Optional(OpenFile.read(part.descriptor, named: "part")), !more.isEmpty {
                bytes += more
            }
            parts.append(bytes)
        }
        return (parts, reader.ambiguity)
    }

    /// The parts of a text that begins with a delimiter, found in the simplest way: line by line.
    private func expected(_ text: [UInt8]) -> (parts: [[UInt8]], hasOtherDelimiter: Bool) {
        var lines: [[UInt8]] = [[]]
        for byte in text {
            lines[lines.count - 1].append(byte)
            if byte == 0x0A { lines.append([]) }
        }
        let blanks: [UInt8] = [0x20, 0x09, 0x0D, 0x0A]
        var parts: [[UInt8]] = []
        var hasOtherDelimiter = false
        var isClosed = false
        for line in lines {
            let rest = line.starts(with: "--b".utf8) ? line.dropFirst(3).filter { !blanks.contains($0) } : nil
            let isDelimiter = rest == [] || rest == Array("--".utf8)
            let contains = !isDelimiter && line.firstRange(of: Array("--b".utf8)) != nil
            if contains || isClosed && rest == [] { hasOtherDelimiter = true }
            if isClosed { continue }
            guard isDelimiter else {
                parts[parts.count - 1] += line
                continue
            }
            if let last = parts.popLast() { parts.append(Array(last[...].withoutLineEnd)) }
            if rest == [] { parts.append([]) } else { isClosed = true }
        }
        return (parts, hasOtherDelimiter)
    }

    @Test(
        "Parts are divided exactly at their delimiters, wherever a chunk of the file ends", arguments: 0..<40)
    func random(_ seed: UInt64) throws {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func next(_ count: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % count
        }
        let pieces = [
            "\n", "\r\n", "\n\n\n", "a", "-", "--", "x\n", "--a\r\n", "\n--b\n", "\r\n--b \r\n", "b\n",
            "--b", String(repeating: "\n", count: 700), String(repeating: "-", count: 900),
        ]
        // Most texts contain no hidden delimiter, which would be found anywhere.
        let count = seed.isMultiple(of: 2) ? pieces.count : pieces.count - 3
        let filler = String(
            repeating: seed.isMultiple(of: 3) ? "x" : "xy\r\n", count: OpenFile.chunk / 4 - 20)
        var text = "--b\r\n" + (seed.isMultiple(of: 4) ? "" : filler)
        for _ in 0..<200 { text += pieces[next(count)] }
        let bytes = Array((text + "\r\n--b--\r\n").utf8)
        let (found, ambiguity) = try parts(bytes)
        let (parts, hasOtherDelimiter) = expected(bytes)
        #expect(found == parts)
        #expect((ambiguity != nil) == hasOtherDelimiter)
    }

    @Test("Lines without a pattern are returned together, and the line with it is left")
    func linesWithout() throws {
        let file = try UnnamedFile(in: scratch.path)
        let lines = String(repeating: "\n", count: 1_000)
        try file.write(Array((lines + "a--b\n" + lines + "end").utf8))
        var reader = try LineReader(file.descriptor)
        #expect(reader.lines(without: Array("--b".utf8)) == nil)
        #expect(try reader.next() == [0x0A])
        var count = 1
        while let lines = reader.lines(without: Array("--b".utf8)) {
            #expect(lines.last == 0x0A)
            count += lines.count
        }
        #expect(count == 1_000)
        #expect(try reader.next() == Array("a--b\n".utf8)[...])
        #expect(reader.lines(without: Array("--b".utf8))?.count == 1_000)
        #expect(reader.lines(without: Array("--b".utf8)) == nil)
        #expect(try reader.next() == Array("end".utf8)[...])
    }

    @Test("Lines that do not begin with a prefix are returned together, and the line with it is left")
    func linesBefore() throws {
        let file = try UnnamedFile(in: scratch.path)
        let lines = String(repeating: "x--b\n", count: 100)
        try file.write(Array((lines + "--b\n--b--\n" + lines + "--b").utf8))
        var reader = try LineReader(file.descriptor)
        #expect(try reader.next() == Array("x--b\n".utf8)[...])
        for (count, line) in [(99, "--b\n"), (0, "--b--\n"), (100, "--b")] {
            var bytes: [UInt8] = []
            var pieces = 0
            while bytes.count < 5 * count {
                bytes += try reader.lines(beforeLineWith: Array("--b".utf8)) ?? reader.next() ?? []
                pieces += 1
            }
            #expect(bytes == Array(String(repeating: "x--b\n", count: count).utf8))
            #expect(count == 0 || pieces < count / 2)
            #expect(reader.lines(beforeLineWith: Array("--b".utf8)) == nil)
            #expect(try reader.next() == Array(line.utf8)[...])
        }
        #expect(try reader.next() == nil)
    }

    @Test("The parts after a hidden delimiter are the same as without it")
    func partsAfterFinding() throws {
        for (hidden, isFound) in [("x", false), ("x--b", true), ("--bx", true)] {
            let file = try UnnamedFile(in: scratch.path)
            let lines = String(repeating: hidden + "\r\n", count: 20_000)
            try file.write(Array("--b\r\n\(lines)\r\n--b\r\n\r\n--b\r\n\(lines)--b--\r\n".utf8))
            var reader = try PartReader(try LineReader(file.descriptor), "b", scratch: scratch.path)
            var sizes: [Int] = []
            while reader.hasNext {
                let part = try reader.next()
                sizes.append(Int(lseek(part.descriptor, 0, SEEK_END)))
            }
            #expect(sizes == [lines.utf8.count, 0, lines.utf8.count - 2])
            #expect((reader.ambiguity != nil) == isFound)
        }
    }

    /// The processor time of reading a message with a part of one million bytes in equal lines inside nested multiparts.
    ///
    /// - Parameter boundaries: The boundaries of the multiparts, innermost first.
    private func processorTime(line: String = "\n", boundaries: [String]) throws -> Double {
        let lines = String(repeating: line, count: 1_000_000 / line.utf8.count)
        var mail = "Content-Type: text/plain\n\n" + lines
        for name in boundaries {
            mail = "Content-Type: multipart/mixed; boundary=\(name)\n\n--\(name)\n\(mail)\n--\(name)--\n"
        }
        let file = try UnnamedFile(in: scratch.path)
        try file.write(Array(("From: a@mail.example\n" + mail).utf8))
        return try TestSupport.processorTime {
            let contents = try MessageReader(scratch: scratch.path) { _ in nil }.read(file.descriptor)
            #expect(contents.contents.first?.type == "text/plain")
            #expect((contents.ambiguity != nil) == line.contains("--"))
        }
    }

    private let boundaries = (0..<15).map { "x\($0)q" }

    @Test("Each level of nesting adds only little processor time for parts with many lines")
    func manyLines() throws {
        let time = try processorTime(boundaries: boundaries)
        #expect(time < 10 * (try processorTime(boundaries: [boundaries[0]])))
    }

    @Test("Lines that contain the delimiters of all levels need little more processor time than others")
    func manyDelimiters() throws {
        let longest = String(repeating: "q", count: 20)
        let time = try processorTime(
            line: "x--\(longest)\n", boundaries: (0..<15).map { String(longest.dropFirst($0)) })
        #expect(time < 8 * (try processorTime(line: "xaa\(longest)\n", boundaries: boundaries)))
    }

    @Test("Short lines that could begin CMS in Base64 need little more processor time than others")
    func manyBeginnings() throws {
        func time(_ line: String, end: String = "", isFound: Bool = false) throws -> Double {
            let lines = String(repeating: line, count: 300_000) + end
            let file = try UnnamedFile(in: scratch.path)
            try file.write(Array(("Content-Type: application/pkcs7-mime\n\n" + lines).utf8))
            return try TestSupport.processorTime {
                let form = try MessageForm(file.descriptor, as: .file)
                #expect((form.ambiguity(of: "the message") != nil) == isFound)
            }
        }
        #expect(try time("M\n") < 6 * time("x\n"))
        _ = try time("M\n", end: "IICAAYJKoZIhvcN\n", isFound: true)
    }

    @Test("A message that was forwarded 15 times is read")
    func forwards() throws {
        var mail = Array("Content-Type: text/plain\r\n\r\n".utf8) + [UInt8](repeating: 0x61, count: 10_000)
        for level in 1...15 {
            mail =
                Array("Content-Type: multipart/mixed; boundary=f\(level)f\r\n\r\n--f\(level)f\r\n".utf8)
                + Array("Content-Type: message/rfc822\r\n\r\nSubject: x\r\n".utf8) + mail
                + Array("\r\n--f\(level)f--\r\n".utf8)
        }
        let file = try UnnamedFile(in: scratch.path)
        try file.write(mail)
        let contents = try MessageReader(scratch: scratch.path) { _ in nil }.read(file.descriptor)
        #expect(contents.limit == nil && contents.contents.map(\.type) == ["text/plain"])
    }

    @Test("A message is not read further if its parts at all levels have more than 40 times its size")
    func copies() throws {
        for (levels, isAbove) in [(12, false), (15, true)] {
            var mail =
                Array("Content-Type: text/plain\r\n\r\n".utf8) + [UInt8](repeating: 0x61, count: 400_000)
            for level in 0..<levels {
                let boundary = "m\(level)"
                mail =
                    Array("Content-Type: multipart/mixed; boundary=\(boundary)\r\n\r\n--\(boundary)\r\n".utf8)
                    + mail + Array("\r\n--\(boundary)--\r\n".utf8)
                for layer in ["s", "t"] { mail = try signed(mail, boundary: layer + "\(level)") }
            }
            let file = try UnnamedFile(in: scratch.path)
            try file.write(mail)
            let contents = try MessageReader(scratch: scratch.path) { _ in nil }.read(file.descriptor)
            #expect((contents.limit?.contains("40 times its size") == true) == isAbove)
            #expect((contents.parts.count < levels || contents.parts.last?.failure != nil) == isAbove)
        }
    }
}
