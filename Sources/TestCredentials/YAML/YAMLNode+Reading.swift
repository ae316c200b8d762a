internal import Diagnostics
extension YAMLNode {
    /// The value's kind, as a phrase after “not” in an error message.
    private var words: String {
        switch content {
        case .nothing: "nothing"
        case .text(let text): "\u{201C}\(text.prefix(60))\(text.count > 60 ? "\u{2026}" : "")\u{201D}"
        case .list: "a list"
        case .mapping: "a mapping"
        }
    }

    /// Returns the error for a value that does not have the expected form.
    package func problem(expected: String) -> ProvisioningError {
        ProvisioningError(position, "expected \(expected), not \(words)")
    }

    /// Reads a non-empty text of one line.
    package func line(_ expected: String) throws(ProvisioningError) -> String {
        guard case .text(let text) = content, !text.isEmpty, !text.contains(where: \.isNewline) else {
            throw problem(expected: expected)
        }
        return text
    }

    /// Reads a whole number within a range.
    package func number(_ range: ClosedRange<Int>) throws(ProvisioningError) -> Int {
        guard case .text(let text) = content, let number = Int(text), range.contains(number) else {
            throw problem(expected: "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Reads a Boolean value, `true` or `false`.
    package func flag() throws(ProvisioningError) -> Bool {
        guard case .text(let text) = content, let flag = Bool(text) else {
            throw problem(expected: "true or false")
        }
        return flag
    }

    /// Reads one of a set of names.
    ///
    /// - Parameters:
    ///   - what: The kind of name, with its article.
    ///   - names: The permitted names.
    ///   - value: Returns the value for a name.
    package func choice<Value>(
        _ what: String, among names: [String], _ value: (String) -> Value?
    ) throws(ProvisioningError) -> Value {
        let list = names.joined(separator: ", ")
        guard case .text(let text) = content else { throw problem(expected: "\(what): \(list)") }
        if names.contains(text), let value = value(text) { return value }
        let near = NearMatch.of(text, among: names)
        throw ProvisioningError(
            position, "\(words) is not \(what); expected \(list)",
            remedy: near.map { .nearestName($0) })
    }

    /// Reads one of the raw values of a type.
    package func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ what: String, _ type: Value.Type = Value.self
    ) throws(ProvisioningError) -> Value {
        try choice(what, among: Value.allCases.map(\.rawValue), Value.init(rawValue:))
    }

    /// Returns the elements of a list.
    package func list(_ expected: String) throws(ProvisioningError) -> [YAMLNode] {
        guard case .list(let list) = content else { throw problem(expected: expected) }
        return list
    }

    /// Returns the elements of a non-empty list. A value that is not a list counts as its only element.
    package func oneOrMore(_ expected: String) throws(ProvisioningError) -> [YAMLNode] {
        let list = if case .list(let list) = content { list } else { [self] }
        guard !list.isEmpty else { throw problem(expected: expected) }
        return list
    }

    /// Returns the entries of a mapping, in order.
    package func entries(_ expected: String) throws(ProvisioningError) -> [(key: YAMLNode, value: YAMLNode)] {
        guard case .mapping(let entries) = content else { throw problem(expected: expected) }
        return entries
    }

    /// Reads a mapping that contains only keys of `keys`.
    ///
    /// - Parameter what: The subject of the mapping with its article, such as “a person”.
    package func fields(of what: String, among keys: [String]) throws(ProvisioningError) -> YAMLMapping {
        var values: [String: YAMLNode] = [:]
        for (key, value) in try entries("\(what): a mapping with \(keys.joined(separator: ", "))") {
            guard case .text(let name) = key.content, keys.contains(name) else {
                var near: String?
                if case .text(let name) = key.content { near = NearMatch.of(name, among: keys) }
                throw ProvisioningError(
                    key.position, "\(what) has no key \(key.words)",
                    remedy: .keys(nearest: near, all: keys))
            }
            values[name] = value
        }
        return YAMLMapping(what: what, position: position, values: values)
    }
}
