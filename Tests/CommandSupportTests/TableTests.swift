import Foundation
import Testing

@testable import CommandSupport

@Suite("Tables on a terminal", .timeLimit(.minutes(10)))
struct TableTests {
    private let labels = [
        "2A1483937DF934012A1483937DF934012A1483937DF934012A1483937DF93401",
        "2A1483937DFFFFFF0000000000000000000000000000000000000000000000000",
        "9C0000000000000000000000000000000000000000000000000000000000000",
    ]

    private func lines(_ table: Table, _ width: Int?) -> [String] {
        table.lines(fitting: width).map(\.text)
    }

    @Test("A table that fits or has no width limit is unchanged")
    func whole() {
        var table = Table("TYPE", .init("LABEL", .uniqueStart()), .init("NOTE", leaves: 1))
        table.append("signature", labels[0], "x")
        let width = 9 + 1 + 64 + 1 + 4
        for limit in [nil, width, 200] {
            #expect(lines(table, limit)[1] == "signature \(labels[0]) x")
        }
        #expect(lines(table, width - 1)[1] == "signature 2A1483937DF93401\u{2026} x")
    }

    @Test("Names are shortened to unique prefixes of at least eight characters")
    func uniqueStarts() {
        var table = Table("TYPE", .init("LABEL", .uniqueStart()))
        for label in labels { table.append("device", label) }
        table.append("device", "9C")
        #expect(
            lines(table, 20) == [
                "TYPE   LABEL", "device 2A1483937DF9\u{2026}", "device 2A1483937DFF\u{2026}",
                "device 9C0000000000\u{2026}", "device 9C",
            ])
        var few = Table(.init("LABEL", .uniqueStart()))
        few.append(labels[0])
        few.append(labels[2])
        #expect(lines(few, 10) == ["LABEL", "2A148393\u{2026}", "9C000000\u{2026}"])
    }

    @Test("Columns are dropped in a fixed order, and only as many as necessary")
    func departures() {
        var table = Table("A", .init("FIRST", leaves: 1), .init("SECOND", leaves: 2), "B")
        table.append("1", "2", "3", "4")
        #expect(lines(table, 16) == ["A FIRST SECOND B", "1 2     3      4"])
        #expect(lines(table, 15) == ["A SECOND B", "1 3      4"])
        #expect(lines(table, 9) == ["A B", "1 4"])
    }

    @Test("Text wraps between words, names wrap after dots, and each line records the index of its row")
    func wrapping() {
        var table = Table("NAME", .init("TYPE", .wraps(10)), .init("TEXT", .wraps(10)))
        table.append("a", "purebred2025.select.all", "one two three")
        table.append("b", "short", "")
        let lines = table.lines(fitting: 36)
        #expect(
            lines.map(\.text) == [
                "NAME TYPE              TEXT",
                "a    purebred2025.     one two three", "     select.all", "b    short",
            ])
        #expect(lines.map(\.row) == [nil, 0, 0, 1])
        #expect(self.lines(table, 30)[1] == "a    purebred202 one two three")
    }

    @Test(
        "No line is wider than the terminal, whatever the contents", arguments: [1, 4, 9, 20, 33, 60, 80])
    func everyWidth(width: Int) {
        var table = Table(
            "TYPE", .init("SERIAL", .uniqueStart(), leaves: 1), .init("PERSON", .wraps(12)),
            .init("LABEL", .uniqueStart()), "LAST")
        for label in labels {
            table.append(
                "authentication", label, "EXAMPLE.DANA MARGARETHE.1234567890", label,
                "nobody-breaks-this")
        }
        for line in table.lines(fitting: width) {
            #expect(line.text.columnCount <= max(width, 7), "\(line.text)")
        }
    }

    @Test("A wide character occupies two columns, and a combining one none")
    func wideCharacters() {
        #expect("\u{5C71}".columnCount == 2)
        #expect("e\u{301}\u{2026}".columnCount == 2)
        var table = Table("NAME", "X")
        table.append("\u{5C71}\u{5C71}\u{5C71}", "1")
        #expect(lines(table, nil) == ["NAME   X", "\u{5C71}\u{5C71}\u{5C71} 1"])
    }
}
