import Diagnostics
import Foundation
import Testing

@testable import TestCredentials

@Suite("Persons from comma-separated values", .timeLimit(.minutes(10)))
struct CSVPersonsTests {
    private func persons(
        _ text: String, source: String = "people.csv"
    ) throws(ProvisioningError) -> [PersonDescription] {
        try PersonDescription.list(Array(text.utf8), source: source)
    }

    private func failure(of text: String) -> ProvisioningError? {
        do throws(ProvisioningError) {
            _ = try persons(text)
            return nil
        } catch {
            return error
        }
    }

    @Test("Columns may be in any order and letter case, and empty fields are ignored")
    func columns() throws {
        let list = try persons(
            """
            EDIPI,Name,email,sid
            1234567890,Dana Example,dana@mail.example,
            ,Alex Other,,S-1-5-21-1-2-3-1001
            """)
        #expect(list.map(\.name) == ["Dana Example", "Alex Other"])
        #expect(list.map(\.edipi) == ["1234567890", nil])
        #expect(list.map(\.email) == ["dana@mail.example", nil])
        #expect(list.map(\.sid) == [nil, "S-1-5-21-1-2-3-1001"])
        #expect(list.allSatisfy { $0.agency == nil })
    }

    @Test("A quoted field may contain commas, quotation marks and the characters of any language")
    func quoted() throws {
        let records = try CSVText(Array("a,\"b, \"\"c\"\"\"\r\n\"é\u{1F600}\",\"two\r\nlines\"\r\n".utf8))
            .records
        #expect(records.map { $0.map(\.text) } == [["a", "b, \"c\""], ["é\u{1F600}", "two\r\nlines"]])
        #expect(records[1][1].position == SourcePosition(line: 2, column: 6))
    }

    @Test(
        "Both line endings, a byte order mark, empty lines and a missing final line ending are accepted",
        arguments: [
            "name,edipi\nDana Example,1234567890\n", "name,edipi\r\nDana Example,1234567890\r\n",
            "\u{FEFF}name,edipi\r\n\r\nDana Example,1234567890",
            "\"name\",\"edipi\"\n\nDana Example,1234567890\n\n",
        ])
    func lineEnds(text: String) throws {
        let list = try persons(text)
        #expect(list.map(\.name) == ["Dana Example"])
        #expect(list.map(\.edipi) == ["1234567890"])
    }

    @Test("A table is recognized by the file extension, or by column names in the first line")
    func recognition() throws {
        let table = "name,email\nDana Example,dana@mail.example\n"
        #expect(try persons(table, source: "standard input").map(\.email) == ["dana@mail.example"])
        #expect(try persons("name: Dana Example\n", source: "people").map(\.name) == ["Dana Example"])
        #expect(try persons("- name: Dana Example\n", source: "people.yaml").count == 1)
        #expect(throws: ProvisioningError.self) { try persons("name: Dana Example\n") }
    }

    @Test(
        "An error contains the line, the column and the expected contents",
        arguments: [
            ("", "1:1", "the text is empty"),
            ("name\n", "1:1", "no person follows"),
            ("name,nmae\n", "1:6", "unknown column \u{201C}nmae\u{201D}"),
            ("name;email\n", "1:1", "expected commas between the columns"),
            ("name,email,Name\n", "1:12", "the column \u{201C}name\u{201D} occurs twice"),
            ("name,email\nDana Example\n", "2:1", "expected 2 fields as in the first line, not 1"),
            (
                "name,email\nDana Example,a@b.example,\n", "2:1",
                "expected 2 fields as in the first line, not 3"
            ),
            ("name,edipi\nDana Example,123\n", "2:14", "is not an EDIPI of 10 digits"),
            ("name,email\n\"Dana Example\",dana\n", "2:16", "is not an e-mail address"),
            ("name,email\n\nÉva Example,dana\n", "3:13", "is not an e-mail address"),
            ("name\n\"Dana\nExample\"\n", "2:1", "expected text without line breaks"),
            ("name\n\"Dana Example\n", "2:1", "has no closing quotation mark"),
            ("name\nDana \"D\" Example\n", "2:6", "a quotation mark inside a field"),
            ("name,email\n\"Dana Example\"x,\n", "2:15", "expected a comma or the end of the line"),
            ("name,edipi\nA B,1234567890\nC D,1234567890\n", "3:1", "has the EDIPI 1234567890"),
        ])
    func errors(text: String, place: String, reason: String) throws {
        let error = try #require(failure(of: text))
        #expect(error.code == .malformedPerson)
        #expect(error.reason.hasPrefix("people.csv:\(place): "), "\(error.reason)")
        #expect(error.reason.contains(reason), "\(error.reason)")
    }

    @Test("A table with too many fields is rejected at the first line over the limit")
    func fieldLimit() throws {
        let table = Array("a,b\nc,d\n\ne,f\n".utf8)
        #expect(try CSVText(table, most: 6).records.count == 3)
        let error = #expect(throws: ProvisioningError.self) { try CSVText(table, most: 5) }
        #expect(error?.reason == "the text has more than 5 fields")
        let located = error?.located(in: "people.csv", as: .malformedPerson)
        #expect(located?.reason.hasPrefix("people.csv:4:1: ") == true)
    }

    @Test("A field with too many bytes or combining marks is rejected, in the header and in a record")
    func textLimits() throws {
        let marks = "E" + String(repeating: "\u{301}", count: CombiningMarks.most + 1)
        let long = String(repeating: "x", count: TextBounds.largestText + 1)
        for (text, reason) in [
            (marks, "there are more than 30 combining marks in a row"),
            (long, "this value has more than 16384 bytes"),
        ] {
            for (table, line) in [("name,\(text)\nA,b\n", 1), ("name,note\nA,\(text)\n", 2)] {
                let error = #expect(throws: ProvisioningError.self) { try CSVText(Array(table.utf8)) }
                #expect(error?.reason == reason)
                #expect(
                    error?.located(in: "a.csv", as: .malformedPerson).reason.hasPrefix("a.csv:\(line):")
                        == true)
            }
            let fitting = "name,note\nA,\(String(text.unicodeScalars.dropLast()))\n"
            #expect(try CSVText(Array(fitting.utf8)).records.count == 2)
        }
    }

    @Test("A misspelt column is reported with the most similar name")
    func nearest() throws {
        guard case .keys(let nearest, let all) = try #require(failure(of: "name,nmae\n")).remedy else {
            Issue.record("there is no remedy")
            return
        }
        #expect(nearest == "name" && all.contains("organization"))
    }

    @Test("Octets that are not UTF-8 are rejected with their line")
    func encoding() {
        #expect(throws: ProvisioningError(.malformedPerson, "")) {
            try PersonDescription.list(Array("name\n".utf8) + [0xE9, 0x0A], source: "people.csv")
        }
    }
}
