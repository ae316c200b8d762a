/// Suggests the intended name for a misspelled one.
package enum NearMatch {
    /// Returns the name in `names` that is most similar to `text`, ignoring case. Returns nil if no name is similar
    /// enough: up to a third of the name's letters may differ, but at least two.
    package static func of(_ text: String, among names: some Sequence<String>) -> String? {
        let text = Array(text.lowercased().unicodeScalars.prefix(64))
        let near = names.map { name in (name, distance(text, Array(name.lowercased().unicodeScalars))) }
            .min { $0.1 < $1.1 }
        guard let (name, distance) = near, distance <= max(2, name.count / 3), distance < name.count else {
            return nil
        }
        return name
    }

    /// Returns the Levenshtein distance: the number of letters to insert, delete or replace to turn one string into the
    /// other.
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
