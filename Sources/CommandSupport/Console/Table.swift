internal import Diagnostics
internal import Foundation

/// A plain text table: a heading, then a row for each value.
///
/// A table that is wider than the terminal is made to fit. First the columns that name things are shortened to starts
/// that are still unique, then columns leave, then texts are broken into several lines:
///
/// ```swift
/// var table = Table("TYPE", .init("LABEL", .uniqueStart()), .init("PERSON", .wraps(12)), .init("E-MAIL", leaves: 1))
/// table.append("signature", label, "EXAMPLE.DANA.1234567890", "dana@mail.example")
/// try console.table(table)
/// ```
///
/// Nothing is shortened, left out or broken where the output is unlimited, as for a script.
package struct Table {
    /// What is in a column, and what may be done to it where the table is too wide.
    package struct Column: Sendable, ExpressibleByStringLiteral {
        /// How the cells of a column get narrower.
        package enum Fit: Sendable {
            /// The cells stay as they are, unless the terminal has no room for anything else.
            case whole
            /// The cells are shortened to a start that no other cell of the column has, and an ellipsis. At least
            /// so many characters are left: other names than those of the table may begin alike.
            case uniqueStart(atLeast: Int = Table.shortestStart)
            /// The cells are broken into several lines. The column has at least so many characters before columns
            /// leave for it.
            case wraps(_ comfortable: Int)
        }

        /// The text above the column.
        let heading: String
        /// How the cells get narrower.
        let fit: Fit
        /// When the column leaves: one with a lower number leaves first; nil where it never does.
        let departure: Int?

        /// A column.
        ///
        /// - Parameters:
        ///   - heading: the text above the column.
        ///   - fit: how the cells get narrower.
        ///   - departure: when the column leaves: one with a lower number leaves first; nil where it never does.
        package init(_ heading: String, _ fit: Fit = .whole, leaves departure: Int? = nil) {
            self.heading = heading
            self.fit = fit
            self.departure = departure
        }

        /// A column whose cells stay as they are.
        package init(stringLiteral heading: String) {
            self.init(heading)
        }
    }

    /// A line of the table as it is printed.
    struct Line: Equatable {
        /// The text, without white space at its end.
        let text: String
        /// The number of the row that the line belongs to; nil for the heading.
        let row: Int?
    }

    /// The characters that are left of a label or serial number: eight hexadecimal digits, which are enough to be
    /// unique among thousands.
    package static let shortestStart = 8

    private let columns: [Column]
    private var rows: [[String]] = []

    /// An empty table with these columns.
    package init(_ columns: Column...) {
        self.init(columns)
    }

    /// An empty table with these columns.
    package init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row; a cell for each column.
    package mutating func append(_ cells: String...) {
        append(cells)
    }

    /// Adds a row; a cell for each column.
    package mutating func append(_ cells: [String]) {
        rows.append(
            cells.map { cell in
                let text = cell.visible(keepingLineFeeds: true)
                // A line feed in a cell would start a row of its own.
                return text.utf8.contains(UInt8(ascii: "\n"))
                    ? text.replacingOccurrences(of: "\n", with: "\\n") : text
            })
    }

    /// The whole table, as wide as it is; empty where there is no row.
    package var text: String {
        lines(fitting: nil).map(\.text).joined(separator: "\n")
    }

    /// The lines of the table; none where there is no row.
    ///
    /// - Parameter width: the columns of the terminal; nil where there is no limit.
    func lines(fitting width: Int?) -> [Line] {
        guard !rows.isEmpty else { return [] }
        var layout = columns.enumerated().map { place, column in
            Layout(column, cells: rows.map { place < $0.count ? $0[place] : "" })
        }
        if let width, Self.width(of: layout) > width { layout = Self.fit(layout, into: width) }
        let heading = Self.draw(layout.map { ($0.column.heading, $0.width) }).map { Line(text: $0, row: nil) }
        return heading
            + rows.indices.flatMap { row in
                Self.draw(layout.map { ($0.cells[row], $0.width) }).map { Line(text: $0, row: row) }
            }
    }

    /// A column as it is printed.
    private struct Layout {
        let column: Column
        var cells: [String]
        var width: Int
        /// The width of the longest cell, or of the heading.
        let natural: Int

        init(_ column: Column, cells: [String]) {
            self.column = column
            self.cells = cells
            natural = cells.reduce(column.heading.columnCount) { max($0, $1.columnCount) }
            width = natural
        }

        /// The column where the table is too wide: its names shortened to `length` characters, or to as many more
        /// as keep them unique, or its texts as narrow as they may be.
        func narrowed(namesTo length: Int) -> Layout {
            var layout = self
            switch column.fit {
            case .whole: break
            case .uniqueStart(let least):
                let start = max(length, least, Table.uniqueLength(of: cells))
                layout.cells = cells.map { $0.count > start + 1 ? $0.prefix(start) + "\u{2026}" : $0 }
                layout.width = layout.cells.reduce(column.heading.columnCount) { max($0, $1.columnCount) }
            case .wraps(let comfortable):
                layout.width = min(natural, comfortable)
            }
            return layout
        }
    }

    /// The columns that are left, made to fit.
    private static func fit(_ columns: [Layout], into width: Int) -> [Layout] {
        let departures = columns.compactMap(\.column.departure).sorted()
        for gone in 0...departures.count {
            let left = columns.filter { layout in
                layout.column.departure.map { !departures.prefix(gone).contains($0) } ?? true
            }
            for length in [longerStart, 0] {
                let narrowed = left.map { $0.narrowed(namesTo: length) }
                if self.width(of: narrowed) <= width { return widened(narrowed, to: width) }
            }
        }
        var left = columns.filter { $0.column.departure == nil }.map { $0.narrowed(namesTo: 0) }
        while self.width(of: left) > width {
            guard let widest = left.indices.max(by: { left[$0].width < left[$1].width }),
                left[widest].width > 1
            else { break }
            left[widest].width -= 1
        }
        return left
    }

    /// The columns with the room that is left over given to those that would break their texts; first to the one
    /// that needs least.
    private static func widened(_ columns: [Layout], to width: Int) -> [Layout] {
        var columns = columns
        let needy = columns.indices.filter {
            if case .wraps = columns[$0].column.fit { true } else { false }
        }.sorted { columns[$0].natural - columns[$0].width < columns[$1].natural - columns[$1].width }
        for place in needy {
            let room = width - self.width(of: columns)
            columns[place].width = min(columns[place].natural, columns[place].width + room)
        }
        return columns
    }

    /// The columns that a row takes, with a blank between two columns.
    private static func width(of columns: [Layout]) -> Int {
        columns.reduce(max(columns.count - 1, 0)) { $0 + $1.width }
    }

    /// The lines of one row.
    private static func draw(_ cells: [(text: String, width: Int)]) -> [String] {
        let broken = cells.map { $0.text.wrapped(to: $0.width, splittingWords: true) }
        return (0..<(broken.map(\.count).max() ?? 0)).map { number in
            let parts = zip(cells, broken).map { cell, lines in
                let part = number < lines.count ? lines[number] : ""
                return part + String(repeating: " ", count: max(cell.width - part.columnCount, 0))
            }
            let line = parts.joined(separator: " ")
            return line.lastIndex { $0 != " " }.map { String(line[...$0]) } ?? ""
        }
    }

    /// How many characters it takes to tell these names apart.
    private static func uniqueLength(of names: [String]) -> Int {
        let names = Set(names).sorted()
        return zip(names, names.dropFirst()).map { $0.commonPrefix(with: $1).count + 1 }.max() ?? 0
    }

    /// The characters that are left of names where there is room for them.
    private static let longerStart = 16
}
