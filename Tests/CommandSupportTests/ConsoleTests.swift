import Diagnostics
import Foundation
import Testing

@testable import CommandSupport

@Suite("The console", .timeLimit(.minutes(10)))
struct ConsoleTests {
    @Test("A table pads its columns, removes trailing spaces, and keeps each cell on its line")
    func table() {
        var table = Table("NAME", "TYPE")
        #expect(table.text == "")
        table.append("a", "folder")
        table.append("two\nlines", "")
        #expect(table.text == "NAME       TYPE\na          folder\ntwo\\nlines")
    }

    @Test("Only on a terminal, a label is shortened to sixteen characters and an ellipsis")
    func abbreviation() {
        let label = String(repeating: "0123456789ABCDEF", count: 4)
        #expect(console(columns: "80").abbreviated(label) == "0123456789ABCDEF\u{2026}")
        #expect(console(columns: "80").abbreviated("AB") == "AB")
        #expect(console(columns: "80", isWide: true).abbreviated(label) == label)
        #expect(console(columns: nil).abbreviated(label) == label)
    }

    @Test("COLUMNS sets the width if it is a number; without COLUMNS and a terminal, the width is unlimited")
    func width() {
        #expect(console(columns: "60").width == 60)
        #expect(console(columns: "60", isWide: true).width == nil)
        for wrong in [nil, "", "0", "-3", "wide"] { #expect(console(columns: wrong).width == nil) }
    }

    @Test("A long message is wrapped between words, and the command of a hint gets its own line")
    func messages() {
        #expect(Console.fitted("one two three", to: nil) == "one two three")
        #expect(Console.fitted("one two three", to: 8) == "one two\nthree")
        #expect(
            Console.fitted("hint: start it with: keyshare-provider serve --verbose", to: 30)
                == "hint: start it with:\n  keyshare-provider serve --verbose")
        #expect(
            Console.fitted("hint: to list the identities: keyshare-consumer list", to: 80)
                == "hint: to list the identities: keyshare-consumer list")
    }

    /// Creates a console whose standard output is not a terminal.
    private func console(columns: String?, isWide: Bool = false) -> Console {
        Console(
            isJSON: false, verbosity: .normal, isWide: isWide,
            environment: columns.map { ["COLUMNS": $0] } ?? [:])
    }

    @Test("A document gets the additional key `error` only if the command failed")
    func answer() throws {
        let document = RemovalDocument(removed: 2)
        func text(_ failure: CommandFailure?) throws -> String {
            String(
                decoding: try DocumentCoding.encode(
                    AnsweredDocument(document: document, failure: failure), onOneLine: true), as: UTF8.self)
        }
        #expect(try text(nil) == #"{"removed":2}"#)
        #expect(
            try text(CommandFailure(.refused, code: "limit", "too large"))
                == #"{"error":{"code":"limit","message":"too large"},"removed":2}"#)
    }

    @Test("Characters of a document that could control a terminal are escaped, and decode to the original")
    func safeDocuments() throws {
        let text = "a\u{7F}\u{9B}2J\u{202E}\u{200B}\u{E0041}\u{1B}\n\u{E9}\u{1F511}"
        for onOneLine in [true, false] {
            let bytes = try DocumentCoding.encode(["a": text], onOneLine: onOneLine)
            let json = String(decoding: bytes, as: UTF8.self)
            #expect(!json.unicodeScalars.contains { $0.steersTerminal && $0 != "\n" })
            #expect(
                json.contains(#"\u007F\u009B2J\u202E\u200B\uDB40\uDC41"#) && json.contains("\u{E9}\u{1F511}"))
            #expect(try DocumentCoding.decode([String: String].self, from: bytes) == ["a": text])
        }
    }

    @Test("Dates in documents are written and read as ISO 8601 in UTC to the second")
    func dates() throws {
        let date = Date(timeIntervalSince1970: 1_767_225_600)
        let bytes = try DocumentCoding.encode(["at": date], onOneLine: true)
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"at":"2026-01-01T00:00:00Z"}"#)
        #expect(try DocumentCoding.decode([String: Date].self, from: bytes) == ["at": date])
        #expect(date.dayText == "2026-01-01")
    }

    @Test("Whole seconds from 1600 to 9999 have the text that Foundation's ISO 8601 style returns")
    func plainDates() {
        // Days at both ends of months, years and centuries, and a stride that covers every time of day.
        let days = [
            -135_080, -83_038, -25_508, -25_509, -1, 0, 59, 11_016, 11_017, 47_540, 47_541,
            2_932_896,
        ]
        var seconds = Array(stride(from: -11_676_096_000, to: 253_402_300_800, by: 86_400 * 121 + 3_661))
        for day in days {
            let midnight = day * 86_400
            seconds += [midnight, midnight + 86_399]
        }
        for second in seconds {
            let date = Date(timeIntervalSince1970: Double(second))
            #expect(date.textOfWholeSecond == date.formatted(.iso8601))
        }
        // The last second of 1599, and other dates that Foundation formats.
        let others = [-11_676_096_001, 253_402_300_800, -62_135_596_800, 0.5, -0.5, 1e300, .infinity]
        for second in others {
            #expect(Date(timeIntervalSince1970: second).textOfWholeSecond == nil)
        }
        #expect(Date(timeIntervalSince1970: 1.75).utcText == "1970-01-01T00:00:01Z")
    }

    @Test("Control characters and marks that reorder text are not written to a terminal")
    func terminalContent() {
        for scalar in ["\u{0}", "\u{1B}", "\u{7F}", "\u{9B}", "\u{202A}", "\u{202E}", "\u{2066}", "\u{2069}"]
        {
            #expect(scalar.unicodeScalars.allSatisfy(DestinationOptions.isUnsafeOnTerminal), "\(scalar)")
        }
        for text in [
            "a\tb\r\n", "Gr\u{FC}\u{DF}e", "\u{FEFF}x", "\u{AD}\u{200E}\u{202F}\u{2065}", "\u{206A}",
        ] {
            #expect(!text.unicodeScalars.contains(where: DestinationOptions.isUnsafeOnTerminal), "\(text)")
        }
    }
}
