package import KeySharing

/// A JSON object with the fields of an identity and additional fields.
@dynamicMemberLookup
package struct WithIdentity<Fields: Codable & Sendable>: Codable, Sendable {
    /// The fields of the identity.
    package let identity: IdentityDocument
    /// The additional fields. They can be accessed as if they were properties of this value.
    private let fields: Fields

    /// Combines the fields of an identity with additional fields.
    package init(_ identity: IdentityDocument, _ fields: Fields) {
        self.identity = identity
        self.fields = fields
    }

    /// Returns the value of an additional field.
    package subscript<Value>(dynamicMember path: KeyPath<Fields, Value>) -> Value { fields[keyPath: path] }

    // Written by hand, because both sets of fields are encoded into one object.
    package func encode(to encoder: any Encoder) throws {
        try identity.encode(to: encoder)
        try fields.encode(to: encoder)
    }

    package init(from decoder: any Decoder) throws {
        identity = try IdentityDocument(from: decoder)
        fields = try Fields(from: decoder)
    }
}

/// A JSON object with additional fields and, if it concerns an identity, those of the identity. Otherwise the fields of
/// the identity are null.
@dynamicMemberLookup
package struct WithOptionalIdentity<Fields: Codable & Sendable>: Codable, Sendable {
    /// The identity and its holder; nil if there is none.
    package let identity: IdentityDocument?
    /// The additional fields. They can be accessed as if they were properties of this value.
    private var fields: Fields

    /// Combines the fields of an identity with additional fields.
    package init(_ identity: IdentitySummary?, _ fields: Fields) {
        self.identity = identity.map(IdentityDocument.init)
        self.fields = fields
    }

    /// An additional field.
    package subscript<Value>(dynamicMember path: WritableKeyPath<Fields, Value>) -> Value {
        get { fields[keyPath: path] }
        set { fields[keyPath: path] = newValue }
    }

    // Written by hand, because both sets of fields are encoded into one object.
    package func encode(to encoder: any Encoder) throws {
        try fields.encode(to: encoder)
        try IdentityDocument.encode(identity, to: encoder)
    }

    package init(from decoder: any Decoder) throws {
        fields = try Fields(from: decoder)
        identity = try? IdentityDocument(from: decoder)
    }
}
