internal import CertificateReading
internal import KeySharing
package import OpenSSL

/// The JSON document of `classify`.
package struct ClassificationDocument: Codable, Sendable {
    /// A difference between the rules, or a known pitfall for integrators.
    package struct Warning: Codable, Sendable {
        /// The stable name of the warning.
        package let code: String
        /// The warning as a sentence.
        package let message: String
    }

    /// One certificate in one file.
    package struct Row: Codable, Sendable {
        /// The file as named on the command line, or the entry that holds the certificate.
        package let file: String
        /// The label of the certificate.
        package let label: String
        /// The subject of the certificate.
        package let subject: String
        /// The serial number of the certificate in hexadecimal digits.
        package let serial: String
        /// The credential type under the rules of 2025.
        package let type: String
        /// The name of the 2025 rule that determined the type.
        package let rule: String
        /// The 2025 rule that determined the type, as a sentence.
        package let because: String
        /// The credential type under the legacy rules.
        package let legacyType: String
        /// The name of the legacy rule that determined the type.
        package let legacyRule: String
        /// The legacy rule that determined the type, as a sentence.
        package let legacyBecause: String
        /// The properties of the certificate that the rules examined, on one line.
        package let facts: String
        /// The warnings about the types of both mechanisms.
        package let warnings: [Warning]
        /// The type under the rules of alias sharing, such as `PIV Authentication`.
        package let aliasType: String
        /// The name of the alias-sharing rule that determined the type.
        package let aliasRule: String
        /// The alias-sharing rule that determined the type, as a sentence.
        package let aliasBecause: String
        /// The kinds of the alternative names in the order of the certificate, which alias sharing depends on.
        package let nameOrder: [String]
        /// The warnings about the type under alias sharing.
        package let aliasWarnings: [Warning]

        /// Classifies a certificate.
        ///
        /// - Parameters:
        ///   - file: The file or the entry that holds the certificate.
        ///   - certificate: The certificate.
        package init(_ file: String, _ certificate: Certificate) {
            let report = ClassificationReport(CertificateFacts(certificate))
            let alias = AliasClassification(certificate)
            self.file = file
            label = certificate.label
            subject = "\(certificate.subject)"
            serial = certificate.serialHex
            type = report.keySharing2025.type.rawValue
            rule = report.keySharing2025.rule.rawValue
            because = report.keySharing2025.rule.message
            legacyType = report.legacy.type.rawValue
            legacyRule = report.legacy.rule.rawValue
            legacyBecause = report.legacy.rule.message
            facts = report.facts.summary
            warnings = report.warnings.map { Warning(code: $0.rawValue, message: $0.message) }
            aliasType = alias.type.rawValue
            aliasRule = alias.rule.rawValue
            aliasBecause = alias.rule.message
            nameOrder = (report.facts.alternativeNames ?? []).map(\.summary)
            aliasWarnings = alias.warnings.map { Warning(code: $0.rawValue, message: $0.message) }
        }
    }

    /// The certificates of all files, in the order of the files.
    package let certificates: [Row]
}
