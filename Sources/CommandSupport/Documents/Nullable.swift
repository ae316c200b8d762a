/// A field that is encoded as null, and not omitted, if its value is unknown.
@propertyWrapper
package struct Nullable<Value: Codable & Sendable>: Codable, Sendable {
    /// The value of the field; nil if unknown.
    package var wrappedValue: Value?

    /// Creates a field with a value, or with null.
    package init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    // Written by hand, because only the value is encoded, without a key.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue {
            try container.encode(wrappedValue)
        } else {
            try container.encodeNil()
        }
    }
}

extension Nullable: Equatable where Value: Equatable {}
extension Nullable: Hashable where Value: Hashable {}
