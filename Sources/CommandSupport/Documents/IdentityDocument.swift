package import Foundation
package import KeySharing

/// The fields that describe an identity and its holder. They form a separate object, or are among the fields of a row.
package struct IdentityDocument: Codable, Sendable, Equatable {
    /// The label of the identity.
    package let label: String
    /// The subject of the certificate in the string format of RFC 4514; null if unknown.
    package let subject: String?
    /// The common name of the subject; null if there is none.
    package let person: String?
    /// The e-mail address in the certificate; null if there is none.
    package let email: String?
    /// The person's EDIPI, ten digits; null if there is none.
    package let edipi: String?
    /// The serial number of the certificate in hexadecimal digits.
    package let serial: String
    /// The credential type under the rules of 2025.
    package let type: String
    /// The start of the certificate's validity period.
    package let notBefore: Date
    /// The end of the certificate's validity period; null if unknown.
    package let notAfter: Date?

    /// Creates the document of an identity.
    package init(_ identity: IdentitySummary) {
        label = identity.label
        subject = identity.details?.subject
        person = identity.details?.commonName
        email = identity.details?.email
        edipi = identity.details?.edipi
        serial = identity.serialNumber
        type = identity.type(under: .keySharing2025).rawValue
        notBefore = identity.notBefore
        notAfter = identity.details?.notAfter
    }

    /// Encodes the fields of an identity into the object that `encoder` is encoding. If there is no identity, each
    /// field is null.
    ///
    /// - Throws: `EncodingError`.
    package static func encode(_ identity: IdentityDocument?, to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(identity?.label, forKey: .label)
        try container.encode(identity?.subject, forKey: .subject)
        try container.encode(identity?.person, forKey: .person)
        try container.encode(identity?.email, forKey: .email)
        try container.encode(identity?.edipi, forKey: .edipi)
        try container.encode(identity?.serial, forKey: .serial)
        try container.encode(identity?.type, forKey: .type)
        try container.encode(identity?.notBefore, forKey: .notBefore)
        try container.encode(identity?.notAfter, forKey: .notAfter)
    }

    // Written by hand, because an unknown field is null and not omitted.
    package func encode(to encoder: any Encoder) throws { try Self.encode(self, to: encoder) }

    private enum CodingKeys: CodingKey {
        case label, subject, person, email, edipi, serial, type, notBefore, notAfter
    }

    /// The holder of the identity, for a table; empty if unknown.
    package var personText: String { person ?? subject ?? "" }

    /// The last day of the validity period, for a table; empty if unknown.
    package var expiryText: String { notAfter?.dayText ?? "" }
}

extension Console {
    /// Writes identities as a table with holder, validity period, serial number and label.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    package func table(of identities: [IdentityDocument]) throws(CommandFailure) {
        var table = Table(
            "TYPE", .init("PERSON", .wraps(16)), .init("E-MAIL", leaves: 1), .init("VALID FROM", leaves: 3),
            "EXPIRES", .init("SERIAL", .uniqueStart(), leaves: 2), .init("LABEL", .uniqueStart()))
        for identity in identities {
            table.append(
                identity.type, identity.personText, identity.email ?? "", identity.notBefore.dayText,
                identity.expiryText, identity.serial, identity.label)
        }
        try self.table(table)
    }
}
