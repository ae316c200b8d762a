internal import CLinux

extension StringProtocol {
    /// The width of the text in terminal columns (wcwidth(3)): two for a wide character, zero for a combining one.
    package var columnCount: Int {
        if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
        return unicodeScalars.reduce(0) { $0 + ($1.isASCII ? 1 : Int(clinux_column_count($1.value))) }
    }

    /// Wraps the text between words to lines of at most this many columns. The spaces at a line break are removed.
    ///
    /// - Parameters:
    ///   - width: The columns of a line.
    ///   - splittingWords: Whether to split words that are longer than a line, preferably after punctuation. Otherwise
    ///     such a word gets its own line, which exceeds `width`.
    package func wrapped(to width: Int, splittingWords: Bool = false) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in split(separator: " ", omittingEmptySubsequences: false) {
            let longer = line.isEmpty ? String(word) : line + " " + word
            if longer.columnCount <= width {
                line = longer
                continue
            }
            if !line.isEmpty { lines.append(line) }
            line = String(word)
            guard splittingWords else { continue }
            while line.columnCount > width {
                let start = line.startOfWord(to: width)
                lines.append(String(start))
                line = String(line.dropFirst(start.count))
            }
        }
        return lines + [line]
    }

    /// Returns the longest prefix of a word that fits into this many columns, but at least one character. If possible,
    /// the prefix ends after a punctuation mark, unless it would then fill less than a third of the columns.
    private func startOfWord(to width: Int) -> SubSequence {
        var fitting = prefix(Swift.max(width, 1))
        while fitting.count > 1, fitting.columnCount > width { fitting = fitting.dropLast() }
        guard let mark = fitting.lastIndex(where: { ".,;:-_/@+=".contains($0) }) else { return fitting }
        let start = self[startIndex...mark]
        return start.count * 3 >= width ? start : fitting
    }
}
