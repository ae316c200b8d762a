internal import CLinux

extension StringProtocol {
    /// How many columns of a terminal the text takes (wcwidth(3)): two for a wide character, none for a combining
    /// one.
    var columnCount: Int {
        if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
        return unicodeScalars.reduce(0) { $0 + ($1.isASCII ? 1 : Int(clinux_column_count($1.value))) }
    }

    /// The text in lines of at most this many columns, broken at blanks. The blanks at a break are left out.
    ///
    /// - Parameters:
    ///   - width: the columns of a line.
    ///   - splittingWords: whether a word that is longer than a line is broken too, after punctuation where there
    ///     is some; otherwise such a word stands on a line of its own, which is then longer.
    func wrapped(to width: Int, splittingWords: Bool = false) -> [String] {
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

    /// The first part of a word that fits into so many columns, at least one character: up to the last punctuation
    /// mark where that takes up a third of the columns at least.
    private func startOfWord(to width: Int) -> SubSequence {
        var fitting = prefix(Swift.max(width, 1))
        while fitting.count > 1, fitting.columnCount > width { fitting = fitting.dropLast() }
        guard let mark = fitting.lastIndex(where: { ".,;:-_/@+=".contains($0) }) else { return fitting }
        let start = self[startIndex...mark]
        return start.count * 3 >= width ? start : fitting
    }
}
