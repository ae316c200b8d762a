import Foundation
import Testing

@testable import CommandSupport

@Suite("The console")
struct ConsoleTests {
    @Test("A table pads its columns, ends no line with a blank, and keeps a cell on its line")
    func table() {
        var table = Table("NAME", "TYPE")
        #expect(table.text == "")
        table.append("a", "folder")
        table.append("two\nlines", "")
        #expect(table.text == "NAME       TYPE\na          folder\ntwo\\nlines")
    }

    @Test("A label is shortened to sixteen characters and an ellipsis")
    func abbreviation() {
        #expect(String(repeating: "0123456789ABCDEF", count: 4).abbreviated == "0123456789ABCDEF\u{2026}")
    }

    @Test("A document gets the key `error` beside its own keys where the command failed, and none otherwise")
    func answer() throws {
        let document = RotationDocument()
        func text(_ failure: CommandFailure?) throws -> String {
            String(
                decoding: try DocumentCoding.encode(
                    AnsweredDocument(document: document, failure: failure), onOneLine: true), as: UTF8.self)
        }
        #expect(try text(nil) == #"{"rotated":true}"#)
        #expect(
            try text(CommandFailure(.refused, code: "limit", "too large"))
                == #"{"error":{"code":"limit","message":"too large"},"rotated":true}"#)
    }

    @Test("Dates in documents are ISO 8601 in UTC to the second, written and read")
    func dates() throws {
        let date = Date(timeIntervalSince1970: 1_767_225_600)
        let bytes = try DocumentCoding.encode(["at": date], onOneLine: true)
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"at":"2026-01-01T00:00:00Z"}"#)
        #expect(try DocumentCoding.decode([String: Date].self, from: bytes) == ["at": date])
        #expect(date.dayText == "2026-01-01")
    }
}
