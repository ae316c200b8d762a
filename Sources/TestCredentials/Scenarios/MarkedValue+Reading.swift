extension MarkedValue {
    /// What it is, as a phrase that goes behind “not”.
    private var words: String {
        switch content {
        case .nothing: "nothing"
        case .text(let text): "\u{201C}\(text.prefix(60))\(text.count > 60 ? "\u{2026}" : "")\u{201D}"
        case .list: "a list"
        case .mapping: "a mapping"
        }
    }

    /// The problem that something else was expected here.
    func problem(expected: String, hint: String? = nil) -> ScenarioProblem {
        ScenarioProblem(mark, "expected \(expected), not \(words)", hint: hint)
    }

    /// A text of one line that is not empty.
    func line(_ expected: String) throws(ScenarioProblem) -> String {
        guard case .text(let text) = content, !text.isEmpty, !text.contains(where: \.isNewline) else {
            throw problem(expected: expected)
        }
        return text
    }

    /// A whole number of a range.
    func number(_ range: ClosedRange<Int>) throws(ScenarioProblem) -> Int {
        guard case .text(let text) = content, let number = Int(text), range.contains(number) else {
            throw problem(expected: "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// `true` or `false`.
    func flag() throws(ScenarioProblem) -> Bool {
        guard case .text(let text) = content, let flag = Bool(text) else {
            throw problem(expected: "true or false")
        }
        return flag
    }

    /// What one of a few names stands for.
    func choice<Value>(
        _ what: String, among names: [String], _ value: (String) -> Value?
    ) throws(ScenarioProblem) -> Value {
        let list = names.joined(separator: ", ")
        guard case .text(let text) = content else { throw problem(expected: "\(what): \(list)") }
        if names.contains(text), let value = value(text) { return value }
        let near = NearMatch.of(text, among: names)
        throw ScenarioProblem(
            mark, "\(words) is not \(what); expected \(list)",
            hint: near.map { "did you mean \u{201C}\($0)\u{201D}?" })
    }

    /// What one of a type's names stands for.
    func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ what: String, _ type: Value.Type = Value.self
    ) throws(ScenarioProblem) -> Value {
        try choice(what, among: Value.allCases.map(\.rawValue), Value.init(rawValue:))
    }

    /// The elements of a list.
    func list(_ expected: String) throws(ScenarioProblem) -> [MarkedValue] {
        guard case .list(let list) = content else { throw problem(expected: expected) }
        return list
    }

    /// The elements of a list, or the value itself as the only one.
    func oneOrMore(_ expected: String) throws(ScenarioProblem) -> [MarkedValue] {
        let list = if case .list(let list) = content { list } else { [self] }
        guard !list.isEmpty else { throw problem(expected: expected) }
        return list
    }

    /// The entries of a mapping whose keys are names.
    func entries(_ expected: String) throws(ScenarioProblem) -> [(key: MarkedValue, value: MarkedValue)] {
        guard case .mapping(let entries) = content else { throw problem(expected: expected) }
        return entries
    }

    /// A mapping that has some keys and no others.
    ///
    /// - Parameter what: what the mapping describes, with its article.
    func fields(of what: String, among keys: [String]) throws(ScenarioProblem) -> Fields {
        var values: [String: MarkedValue] = [:]
        for (key, value) in try entries("\(what): a mapping with \(keys.joined(separator: ", "))") {
            guard case .text(let name) = key.content, keys.contains(name) else {
                var hint = "there are \(keys.joined(separator: ", "))"
                if case .text(let name) = key.content, let near = NearMatch.of(name, among: keys) {
                    hint = "did you mean \u{201C}\(near)\u{201D}? \(hint)"
                }
                throw ScenarioProblem(key.mark, "\(what) has no key \(key.words)", hint: hint)
            }
            values[name] = value
        }
        return Fields(what: what, mark: mark, values: values)
    }

    /// A mapping's values by their keys, all of them known.
    struct Fields {
        private let what: String
        private let mark: Mark
        private let values: [String: MarkedValue]

        fileprivate init(what: String, mark: Mark, values: [String: MarkedValue]) {
            self.what = what
            self.mark = mark
            self.values = values
        }

        /// The value of a key; nil where the key is not there.
        subscript(key: String) -> MarkedValue? { values[key] }

        /// The value of a key that must be there.
        func required(_ key: String) throws(ScenarioProblem) -> MarkedValue {
            guard let value = values[key] else {
                throw ScenarioProblem(mark, "\(what) has no \(key); expected one")
            }
            return value
        }

        /// A whole number of a range; nil where the key is not there.
        func number(_ key: String, _ range: ClosedRange<Int>) throws(ScenarioProblem) -> Int? {
            guard let value = values[key] else { return nil }
            return try value.number(range)
        }

        /// What one of a type's names stands for; nil where the key is not there.
        func choice<Value: RawRepresentable<String> & CaseIterable>(
            _ key: String, _ what: String
        ) throws(ScenarioProblem) -> Value? {
            guard let value = values[key] else { return nil }
            return try value.choice(what)
        }

        /// What is made of the value of a key; nil where the key is not there.
        func read<Value>(
            _ key: String, _ read: (MarkedValue) throws(ScenarioProblem) -> Value
        ) throws(ScenarioProblem) -> Value? {
            guard let value = values[key] else { return nil }
            return try read(value)
        }
    }
}
