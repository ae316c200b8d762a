internal import Diagnostics
internal import Foundation

/// A plain text table: a heading, then one row for each value.
///
/// If a table is wider than the terminal, it is narrowed in three steps. First, columns that name things are shortened
/// to unique prefixes. Then columns are dropped. Finally, cells are wrapped to several lines:
///
/// ```swift
/// var table = Table("TYPE", .init("LABEL", .uniqueStart()), .init("PERSON", .wraps(12)), .init("E-MAIL", leaves: 1))
/// table.append("signature", label, "EXAMPLE.DANA.1234567890", "dana@mail.example")
/// try console.table(table)
/// ```
///
/// If the output has no width limit, as in a script, nothing is shortened, dropped or wrapped.
package struct Table {
    /// A column, and how it is narrowed if the table is too wide.
    package struct Column: Sendable, ExpressibleByStringLiteral {
        /// The ways to narrow the cells of a column.
        package enum Fit: Sendable {
            /// The cells keep their width, unless the terminal has no room for any other column.
            case whole
            /// The cells are shortened to a prefix that is unique in the column, and an ellipsis. The prefix has at
            /// least this many characters, because names outside the table may begin alike.
            case uniqueStart(atLeast: Int = Table.shortestStart)
            /// The cells are wrapped to several lines. Other columns are dropped before this column becomes narrower
            /// than this many characters.
            case wraps(_ comfortable: Int)
        }

        /// The text above the column.
        let heading: String
        /// How the cells of the column are narrowed.
        let fit: Fit
        /// The order in which columns are dropped, starting with the lowest number; nil for a column that is never
        /// dropped.
        let departure: Int?

        /// Creates a column.
        ///
        /// - Parameters:
        ///   - heading: The text above the column.
        ///   - fit: How to narrow the cells.
        ///   - departure: The order in which columns are dropped, starting with the lowest number; nil for a column
        ///     that is never dropped.
        package init(_ heading: String, _ fit: Fit = .whole, leaves departure: Int? = nil) {
            self.heading = heading
            self.fit = fit
            self.departure = departure
        }

        /// Creates a column that is never narrowed.
        package init(stringLiteral heading: String) {
            self.init(heading)
        }
    }

    /// A printed line of a table.
    struct Line: Equatable {
        /// The text of the line, without trailing white space.
        let text: String
        /// The index of the row that the line belongs to; nil for the heading.
        let row: Int?
    }

    /// The minimum length of a shortened label or serial number: eight hexadecimal digits, which are unique among
    /// thousands.
    package static let shortestStart = 8

    private let columns: [Column]
    private var rows: [[String]] = []

    /// Creates an empty table with these columns.
    package init(_ columns: Column...) {
        self.init(columns)
    }

    /// Creates an empty table with these columns.
    package init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row with one cell for each column.
    package mutating func append(_ cells: String...) {
        append(cells)
    }

    /// Adds a row with one cell for each column.
    package mutating func append(_ cells: [String]) {
        rows.append(
            cells.map { cell in
                let text = cell.visible(keepingLineFeeds: true)
                // A line feed in a cell would start a new row.
                return text.utf8.contains(UInt8(ascii: "\n"))
                    ? text.replacingOccurrences(of: "\n", with: "\\n") : text
            })
    }

    /// The table in its full width, as text; empty if the table has no rows.
    package var text: String {
        lines(fitting: nil).map(\.text).joined(separator: "\n")
    }

    /// Returns the lines of the table. If the table has no rows, there are no lines, not even the heading.
    ///
    /// - Parameter width: The columns of the terminal; nil for no limit.
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

    /// A column and its cells in their printed form.
    private struct Layout {
        let column: Column
        var cells: [String]
        var width: Int
        /// The width of the longest cell or of the heading.
        let natural: Int

        init(_ column: Column, cells: [String]) {
            self.column = column
            self.cells = cells
            natural = cells.reduce(column.heading.columnCount) { max($0, $1.columnCount) }
            width = natural
        }

        /// Returns the column for a table that is too wide. Names are shortened to `length` characters, or to more if
        /// they would otherwise not be unique. Texts get their minimum width.
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

    /// Returns the remaining columns, narrowed to the given width.
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

    /// Distributes the remaining width among the columns that would otherwise wrap, starting with the column that needs
    /// the least.
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

    /// Returns the width of a row, with one space between columns.
    private static func width(of columns: [Layout]) -> Int {
        columns.reduce(max(columns.count - 1, 0)) { $0 + $1.width }
    }

    /// Returns the printed lines of one row.
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

    /// Returns the minimum number of leading characters that distinguish these names.
    private static func uniqueLength(of names: [String]) -> Int {
        let names = Set(names).sorted()
        return zip(names, names.dropFirst()).map { $0.commonPrefix(with: $1).count + 1 }.max() ?? 0
    }

    /// The preferred length of a shortened name if there is enough width.
    private static let longerStart = 16
}
