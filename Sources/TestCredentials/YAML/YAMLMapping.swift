/// The values of a YAML mapping, keyed by name. It contains only known keys.
package struct YAMLMapping {
    private let what: String
    private let position: SourcePosition
    private let values: [String: YAMLNode]

    /// Creates a mapping that describes `what` and starts at `position`.
    init(what: String, position: SourcePosition, values: [String: YAMLNode]) {
        self.what = what
        self.position = position
        self.values = values
    }

    /// The value of `key`, or nil if the mapping does not contain it.
    package subscript(key: String) -> YAMLNode? { values[key] }

    /// Returns the value of a mandatory key.
    package func required(_ key: String) throws(ProvisioningError) -> YAMLNode {
        guard let value = values[key] else {
            throw ProvisioningError(position, "\(what) has no \(key); expected one")
        }
        return value
    }

    /// Reads a whole number within a range. Returns nil if the mapping does not contain the key.
    package func number(_ key: String, _ range: ClosedRange<Int>) throws(ProvisioningError) -> Int? {
        guard let value = values[key] else { return nil }
        return try value.number(range)
    }

    /// Reads one of the raw values of a type. Returns nil if the mapping does not contain the key.
    package func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ key: String, _ what: String
    ) throws(ProvisioningError) -> Value? {
        guard let value = values[key] else { return nil }
        return try value.choice(what)
    }

    /// Calls `read` with the value of a key. Returns nil if the mapping does not contain the key.
    package func read<Value>(
        _ key: String, _ read: (YAMLNode) throws(ProvisioningError) -> Value
    ) throws(ProvisioningError) -> Value? {
        guard let value = values[key] else { return nil }
        return try read(value)
    }
}
