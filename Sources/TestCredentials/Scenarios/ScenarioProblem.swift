/// What is wrong with the text of a scenario or of a list of persons, and where.
struct ScenarioProblem: Error {
    let mark: MarkedValue.Mark
    /// What is there and what was expected, as a phrase.
    let reason: String
    let hint: String?

    init(_ mark: MarkedValue.Mark, _ reason: String, hint: String? = nil) {
        self.mark = mark
        self.reason = reason
        self.hint = hint
    }

    /// The problem as an error: `FILE:LINE:COLUMN: reason`.
    func error(_ code: ProvisioningError.Code, in source: String) -> ProvisioningError {
        ProvisioningError(code, "\(source):\(mark.line):\(mark.column): \(reason)", hint: hint)
    }
}

/// The name among some that a misspelt one was most likely meant to be.
enum NearMatch {
    /// Nil where none is near enough: a third of its letters, and two at least, may differ.
    static func of(_ text: String, among names: some Sequence<String>) -> String? {
        let text = Array(text.lowercased().unicodeScalars.prefix(64))
        let near = names.map { name in (name, distance(text, Array(name.lowercased().unicodeScalars))) }
            .min { $0.1 < $1.1 }
        guard let (name, distance) = near, distance <= max(2, name.count / 3), distance < name.count else {
            return nil
        }
        return name
    }

    /// How many letters must be put in, taken out or replaced to make one of the other (Levenshtein).
    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        var previous = Array(0...right.count)
        for (row, letter) in left.enumerated() {
            var current = [row + 1]
            for (column, other) in right.enumerated() {
                current.append(
                    min(
                        previous[column] + (letter == other ? 0 : 1), previous[column + 1] + 1,
                        current[column] + 1))
            }
            previous = current
        }
        return previous[right.count]
    }
}
