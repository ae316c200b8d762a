internal import Foundation

/// The text of `--help`, broken into lines that fit the terminal. Examples are never broken, so that pasting one runs
/// the whole command.
struct HelpText {
    /// The text as the argument parser makes it where it has room for everything on one line.
    private let text: String

    /// The columns that the argument parser is given so that it breaks nothing.
    static let unbroken = 1_000_000

    /// The help in a text that the argument parser made with ``unbroken`` columns; nil where the text is something
    /// else, such as a version.
    init?(_ text: String) {
        guard text.hasPrefix("OVERVIEW: ") else { return nil }
        self.text = text
    }

    /// The text in lines of at most this many columns, but for examples.
    func wrapped(to width: Int) -> String {
        var isExample = false
        return text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line -> [String] in
            if isExample, !line.isEmpty { return [String(line)] }
            isExample = line == "EXAMPLE:"
            if line.hasPrefix("USAGE: ") { return Self.wrap(Self.joiningOptions(in: line), to: width) }
            return Self.wrap(line, to: width)
        }.joined(separator: "\n").replacingOccurrences(of: Self.joint, with: " ")
    }

    /// A blank at which no line is broken.
    private static let joint = "\u{A0}"

    /// The synopsis with each option and its value joined, so that no line is broken between the two.
    private static func joiningOptions(in usage: Substring) -> Substring {
        var depth = 0
        return Substring(
            usage.map { character -> String in
                if character == "[" { depth += 1 }
                if character == "]" { depth -= 1 }
                return character == " " && depth > 0 ? joint : String(character)
            }.joined())
    }

    /// The lines of one line. What follows stands below the explanation of an option, or below the start of the line.
    private static func wrap(_ line: Substring, to width: Int) -> [String] {
        let indent = indent(of: line)
        guard line.columnCount > width, indent < width / 2 else { return [String(line)] }
        let lines = line.dropFirst(indent).wrapped(to: width - indent)
        let blanks = String(repeating: " ", count: indent)
        return lines.enumerated().map { ($0 == 0 ? line.prefix(indent) : blanks[...]) + $1 }
    }

    /// The column at which the explanation of an option begins, or the words of any other line.
    private static func indent(of line: Substring) -> Int {
        if line.hasPrefix("USAGE: ") { return 7 }
        let blanks = line.prefix { $0 == " " }.count
        if let gap = line.dropFirst(blanks).prefix(explanation).range(of: "  "), blanks > 0 {
            return line[..<(line[gap.lowerBound...].firstIndex { $0 != " " } ?? line.endIndex)].count
        }
        // The name of an option may take up the room but for one blank.
        let label = line.prefix(explanation)
        if blanks == 2, label.count == explanation, label.hasSuffix("> ") { return explanation }
        return blanks
    }

    /// The column at which the argument parser lines explanations up.
    private static let explanation = 26
}
