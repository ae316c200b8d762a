package import OpenSSL

/// An object identifier with its name, in JSON.
package struct IdentifierDocument: Codable, Sendable, Equatable {
    /// The identifier, dotted.
    package let oid: String
    /// The name; null where none is known.
    package let name: String?

    /// Describes an identifier.
    package init(_ identifier: NamedIdentifier) {
        oid = identifier.oid
        name = identifier.name
    }

    // Written by hand, because a name that is not known is null and not left out.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(oid, forKey: .oid)
        try container.encode(name, forKey: .name)
    }

    /// The name with the identifier in parentheses, or the identifier alone.
    var text: String { name.map { "\($0) (\(oid))" } ?? oid }
}
