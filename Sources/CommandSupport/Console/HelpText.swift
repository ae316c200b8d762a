internal import Foundation

/// The text of `--help`, wrapped to the terminal. Examples are never wrapped, so that a pasted example runs the whole
/// command.
struct HelpText {
    /// The text as the argument parser formats it without line wrapping.
    private let text: String

    /// The width passed to the argument parser so that it wraps nothing.
    static let unbroken = 1_000_000

    /// Creates a help text from the argument parser's output for ``unbroken`` columns; nil if the output is not help,
    /// such as a version.
    init?(_ text: String) {
        guard text.hasPrefix("OVERVIEW: ") else { return nil }
        self.text = text
    }

    /// Wraps the text to at most this many columns, except for examples.
    func wrapped(to width: Int) -> String {
        var isExample = false
        return text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line -> [String] in
            if isExample, !line.isEmpty { return [String(line)] }
            isExample = line == "EXAMPLE:"
            if line.hasPrefix("USAGE: ") { return Self.wrap(Self.joiningOptions(in: line), to: width) }
            return Self.wrap(line, to: width)
        }.joined(separator: "\n").replacingOccurrences(of: Self.joint, with: " ")
    }

    /// A no-break space, at which no line is broken.
    private static let joint = "\u{A0}"

    /// Returns the synopsis with each option joined to its value, so that no line break separates them.
    private static func joiningOptions(in usage: Substring) -> Substring {
        var depth = 0
        return Substring(
            usage.map { character -> String in
                if character == "[" { depth += 1 }
                if character == "]" { depth -= 1 }
                return character == " " && depth > 0 ? joint : String(character)
            }.joined())
    }

    /// Wraps one line. Continuation lines are aligned with the explanation of an option. Without an explanation, they
    /// are aligned with the first word of the line.
    private static func wrap(_ line: Substring, to width: Int) -> [String] {
        let indent = indent(of: line)
        guard line.columnCount > width, indent < width / 2 else { return [String(line)] }
        let lines = line.dropFirst(indent).wrapped(to: width - indent)
        let blanks = String(repeating: " ", count: indent)
        return lines.enumerated().map { ($0 == 0 ? line.prefix(indent) : blanks[...]) + $1 }
    }

    /// Returns the column at which the explanation of an option begins. For a line without an explanation, returns the
    /// column of the first word.
    private static func indent(of line: Substring) -> Int {
        if line.hasPrefix("USAGE: ") { return 7 }
        let blanks = line.prefix { $0 == " " }.count
        if let gap = line.dropFirst(blanks).prefix(explanation).range(of: "  "), blanks > 0 {
            return line[..<(line[gap.lowerBound...].firstIndex { $0 != " " } ?? line.endIndex)].count
        }
        // After a long option name, only one space precedes the explanation.
        let label = line.prefix(explanation)
        if blanks == 2, label.count == explanation, label.hasSuffix("> ") { return explanation }
        return blanks
    }

    /// The column at which the argument parser aligns explanations.
    private static let explanation = 26
}
