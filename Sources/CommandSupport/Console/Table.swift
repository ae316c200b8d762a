internal import Diagnostics
internal import Foundation
internal import TextTable

/// A plain text table: a heading, then a row for each value.
package struct Table {
    private let headings: [String]
    private var rows: [[String]] = []

    /// An empty table with these columns.
    package init(_ headings: String...) {
        self.init(headings)
    }

    /// An empty table with these columns.
    package init(_ headings: [String]) {
        self.headings = headings
    }

    /// Adds a row; a cell for each heading.
    package mutating func append(_ cells: String...) {
        append(cells)
    }

    /// Adds a row; a cell for each heading.
    package mutating func append(_ cells: [String]) {
        // A line feed in a cell would start a row of its own.
        rows.append(
            cells.map { $0.visible(keepingLineFeeds: true).replacingOccurrences(of: "\n", with: "\\n") })
    }

    /// The table without trailing white space; empty where there is no row.
    package var text: String {
        guard !rows.isEmpty else { return "" }
        let table = TextTable<[String]> { cells in
            zip(headings, cells).map { Column(title: $0, value: $1) }
        }
        let lines = (table.string(for: rows, style: Style.plain) ?? "").split(separator: "\n")
        return lines.map { line in
            line.lastIndex { $0 != " " }.map { line[...$0] } ?? ""
        }.joined(separator: "\n")
    }
}
