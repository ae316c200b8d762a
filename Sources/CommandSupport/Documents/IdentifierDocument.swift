package import OpenSSL

/// An object identifier and its name, in JSON.
package struct IdentifierDocument: Codable, Sendable, Equatable {
    /// The object identifier in dotted notation.
    package let oid: String
    /// The name of the object identifier; null if unknown.
    package let name: String?

    /// Creates the document of an object identifier.
    package init(_ identifier: NamedIdentifier) {
        oid = identifier.oid
        name = identifier.name
    }

    // Written by hand, because an unknown name is null and not omitted.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(oid, forKey: .oid)
        try container.encode(name, forKey: .name)
    }

    /// The name with the identifier in parentheses, or only the identifier.
    package var text: String { name.map { "\($0) (\(oid))" } ?? oid }
}
