/// The fields of an identity and others, side by side in one object of JSON.
@dynamicMemberLookup
package struct WithIdentity<Fields: Codable & Sendable>: Codable, Sendable {
    /// Whose the identity is.
    package let identity: IdentityDocument
    /// The other fields, which are read as if they were this value's own.
    private let fields: Fields

    /// Puts the fields of an identity and others together.
    init(_ identity: IdentityDocument, _ fields: Fields) {
        self.identity = identity
        self.fields = fields
    }

    /// One of the other fields.
    package subscript<Value>(dynamicMember path: KeyPath<Fields, Value>) -> Value { fields[keyPath: path] }

    // Written by hand, because both are written into one object.
    package func encode(to encoder: any Encoder) throws {
        try identity.encode(to: encoder)
        try fields.encode(to: encoder)
    }

    package init(from decoder: any Decoder) throws {
        identity = try IdentityDocument(from: decoder)
        fields = try Fields(from: decoder)
    }
}
