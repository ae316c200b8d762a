import CommandSupport
import Foundation
import Glibc
import Testing

@Suite("LineWriter", .timeLimit(.minutes(10)))
struct LineWriterTests {
    @Test("Lines that are written without a reader are dropped, and the next reader receives their number")
    func dropped() throws {
        let pipe = Pipe()
        let writer = LineWriter(
            descriptor: pipe.fileHandleForWriting.fileDescriptor, capacity: 1_000
        ) { "\($0) missing" }
        let line = String(repeating: "x", count: 99) + "\n"
        // A pipe buffers 64 KiB (pipe(7)).
        for _ in 0..<5_000 { writer.write(line) }
        #expect(writer.dropped > 0)
        writer.flush(patience: .zero)
        let dropped = writer.dropped
        // Before it continues, the writer reports the number of lines dropped since the last report.
        var (told, read, lines) = (0, "", 0)
        while told < dropped {
            let part = pipe.fileHandleForReading.availableData
            try #require(!part.isEmpty)
            read += String(decoding: part, as: UTF8.self)
            let whole = read.split(separator: "\n", omittingEmptySubsequences: false)
            for line in whole.dropLast() {
                if line.hasPrefix("xxx") {
                    lines += 1
                } else {
                    #expect(line.hasSuffix(" missing"))
                    told += Int(line.prefix { $0 != " " }) ?? 0
                }
            }
            read = String(whole.last ?? "")
        }
        #expect(told == dropped)
        #expect(lines == 5_000 - dropped)
    }

    @Test("A flush without a reader ends after its patience")
    func impatient() throws {
        let pipe = Pipe()
        let writer = LineWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        // More than a pipe buffers.
        let text = String(repeating: "x", count: 200_000)
        writer.write(text)
        writer.flush(patience: .zero)
        var read = 0
        while read < text.utf8.count {
            let part = pipe.fileHandleForReading.availableData
            try #require(!part.isEmpty)
            read += part.count
        }
        #expect(read == text.utf8.count && writer.dropped == 0)
    }

    @Test("After a flush, all lines are written in order")
    func flushed() throws {
        let pipe = Pipe()
        let writer = LineWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        for number in 0..<100 { writer.write("\(number)\n") }
        writer.flush(patience: .seconds(60))
        let text = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
        #expect(text == (0..<100).map { "\($0)\n" }.joined())
        #expect(writer.dropped == 0)
    }
}
