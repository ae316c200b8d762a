/// A field of a document that is null in JSON where the value is not known, rather than left out.
@propertyWrapper
package struct Nullable<Value: Codable & Sendable>: Codable, Sendable {
    /// The value; nil where it is not known.
    package var wrappedValue: Value?

    /// Makes a field of a value.
    package init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    // Written by hand, because the value stands alone, without a key.
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
