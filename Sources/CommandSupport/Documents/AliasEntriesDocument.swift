internal import CertificateReading
package import DeviceSimulation
package import Foundation
internal import KeySharing
internal import OpenSSL

/// The JSON document of the provider's `alias add` and `alias list`, and a part of `keyshare-device aliases`.
package struct AliasEntriesDocument: Codable, Sendable {
    /// One KeyChain entry.
    package struct Entry: Codable, Sendable {
        /// The name of the entry.
        package let alias: String
        /// The label of the identity.
        package let label: String
        /// The alias type, as queries return it.
        package let type: String
        /// The rule that assigned the type.
        package let rule: String
        /// The known pitfalls of the type.
        package let warnings: [String]
        /// Whether the chooser offers the entry.
        package let selectable: Bool
        /// The algorithm of the key: `RSA` or `EC`.
        package let keyType: String
        /// The subject of the certificate in the string format of RFC 4514.
        package let subject: String
        /// The common name of the subject; null if there is none.
        @Nullable package var person: String?
        /// The e-mail address in the certificate; null if there is none.
        @Nullable package var email: String?
        /// The person's EDIPI, ten digits; null if there is none.
        @Nullable package var edipi: String?
        /// The serial number of the certificate in hexadecimal digits.
        package let serial: String
        /// The start of the certificate's validity period.
        package let notBefore: Date
        /// The end of the certificate's validity period.
        package let notAfter: Date
    }

    /// The entries, sorted by alias.
    package let entries: [Entry]

    /// Creates the document of these entries.
    package init(entries: [Entry]) {
        self.entries = entries
    }
}

extension AliasEntriesDocument.Entry {
    /// Creates the document of an entry; nil if its certificate cannot be read. Queries also omit such entries.
    package init?(_ entry: KeyChainEntry) {
        guard let certificate = try? Certificate(der: entry.certificate),
            let classification = AliasClassification(CertificateFacts(certificate))
        else { return nil }
        let summary = IdentitySummary(certificate)
        self.init(
            alias: entry.alias, label: entry.label, type: classification.type.rawValue,
            rule: classification.rule.rawValue, warnings: classification.warnings.map(\.rawValue),
            selectable: true, keyType: certificate.publicKey.type == .rsa ? "RSA" : "EC",
            subject: "\(certificate.subject)", person: summary.details?.commonName,
            email: summary.details?.email, edipi: summary.details?.edipi, serial: summary.serialNumber,
            notBefore: certificate.notBefore, notAfter: certificate.notAfter)
    }
}

extension Console {
    /// Writes KeyChain entries as a table.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    package func table(of entries: [AliasEntriesDocument.Entry]) throws(CommandFailure) {
        var table = Table(
            .init("ALIAS", .wraps(24)), .init("TYPE", .wraps(12)), .init("RULE", leaves: 1),
            .init("PERSON", .wraps(16), leaves: 3), .init("EXPIRES", leaves: 2),
            .init("LABEL", .uniqueStart()))
        for entry in entries {
            table.append(
                entry.alias, entry.type, entry.rule, entry.person ?? entry.subject, entry.notAfter.dayText,
                entry.label)
        }
        try self.table(table)
    }

    /// Explains the pitfalls of the entries' types, one line for each entry.
    package func notePitfalls(of entries: [AliasEntriesDocument.Entry]) {
        for entry in entries {
            for warning in entry.warnings.compactMap(AliasClassification.Warning.init) {
                note("\(entry.alias): type \(entry.type): \(warning.message)")
            }
        }
    }
}
