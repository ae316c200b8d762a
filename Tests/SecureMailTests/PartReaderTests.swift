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

    /// The processor time of reading a message with a part of one million empty lines inside nested multiparts.
    private func processorTime(levels: Int) throws -> Double {
        var mail = "Content-Type: text/plain\n\n" + String(repeating: "\n", count: 1_000_000)
        for level in 0..<levels {
            mail =
                "Content-Type: multipart/mixed; boundary=x\(level)q\n\n--x\(level)q\n\(mail)\n--x\(level)q--\n"
        }
        let file = try UnnamedFile(in: scratch.path)
        try file.write(Array(("From: a@mail.example\n" + mail).utf8))
        func now() -> Double {
            var time = timespec()
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = now()
        let contents = try MessageReader(scratch: scratch.path) { _ in nil }.read(file.descriptor)
        #expect(contents.contents.map(\.type) == ["text/plain"] && contents.ambiguity == nil)
        return now() - start
    }

    @Test("Each level of nesting adds only little processor time for parts with many lines")
    func manyLines() throws {
        let time = try processorTime(levels: 15)
        #expect(time < 6 * (try processorTime(levels: 1)))
    }

    @Test("A message is not read further if its parts at all levels have more than 20 times its size")
    func copies() throws {
        for (levels, isAbove) in [(5, false), (9, true)] {
            var mail =
                Array("Content-Type: text/plain\r\n\r\n".utf8) + [UInt8](repeating: 0x61, count: 300_000)
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
            #expect((contents.limit?.contains("20 times its size") == true) == isAbove)
            #expect((contents.parts.count < levels || contents.parts.last?.failure != nil) == isAbove)
        }
    }
}
