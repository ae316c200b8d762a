package import Foundation
package import OpenSSL

/// Checks certificates, keys, revocation lists, status responses, configuration profiles and messages against the rules
/// of standards. Signatures and chains are not verified.
///
/// The findings do not decide whether an object can be used: a certificate with findings may be valid, and one without
/// findings may be revoked. All functions are pure; the time is a parameter.
package enum CertificateLinter {
    /// The description of one rule, for the table of codes.
    package struct RuleDescription: Sendable, Hashable {
        /// The kind of object: `certificate`, `key`, `key encryption`, `list`, `response`, `profile` or `message`.
        package let subject: String
        /// The stable name of the rule.
        package let code: String
        /// The severity of the rule's findings.
        package let severity: LintFinding.Severity
        /// The standard and section that state the rule.
        package let reference: String
        /// The meaning of a finding.
        package let meaning: String

        init<Subject>(_ subject: String, _ rule: LintRule<Subject>) {
            self.subject = subject
            code = rule.code
            severity = rule.severity
            reference = rule.reference
            meaning = rule.meaning
        }
    }

    /// Every rule, grouped by the kind of object.
    package static var rules: [RuleDescription] {
        certificateRules.map { RuleDescription("certificate", $0) }
            + KeyRules.all.map { RuleDescription("key", $0) }
            + KeyEncryptionRules.all.map { RuleDescription("key encryption", $0) }
            + ListRules.all.map { RuleDescription("list", $0) }
            + ResponseRules.all.map { RuleDescription("response", $0) }
            + ProfileRules.all.map { RuleDescription("profile", $0) }
            + MessageRules.all.map { RuleDescription("message", $0) }
    }

    private static let certificateRules =
        CredentialRules.names + FieldRules.all + ExtensionRules.all + NameRules.all + PolicyRules.all
        + CredentialRules.all

    /// The findings about a certificate and its key.
    ///
    /// - Parameters:
    ///   - certificate: The certificate.
    ///   - date: The time for rules that depend on the current time.
    ///   - issuer: The issuer's certificate, for rules that compare the two; nil if it is unknown.
    package static func findings(
        in certificate: Certificate, at date: Date, issuer: Certificate? = nil
    ) -> [LintFinding] {
        certificateRules.findings(LintedCertificate(certificate, at: date, issuer: issuer))
            + findings(in: certificate.publicKey)
    }

    /// The findings about a public key, or about the public half of a private key.
    package static func findings(in key: PublicKey) -> [LintFinding] {
        let key = LintedKey(key)
        return KeyRules.all.flatMap { $0.findings(key) }
    }

    /// The findings about the encryption of a private key. The key itself remains unknown.
    package static func findings(in encryption: LintedKeyEncryption) -> [LintFinding] {
        KeyEncryptionRules.all.flatMap { $0.findings(encryption) }
    }

    /// The findings about a message, excluding findings about the certificates in it.
    package static func findings(in message: LintedMessage) -> [LintFinding] {
        MessageRules.all.flatMap { $0.findings(message) }
    }

    /// The findings about a revocation list, examined at `date`.
    package static func findings(in list: CertificateRevocationList, at date: Date) -> [LintFinding] {
        let list = EncodedList(list, at: date)
        return ListRules.all.flatMap { $0.findings(list) }
    }

    /// The findings about an OCSP response, examined at `date`.
    package static func findings(in response: StatusResponse, at date: Date) -> [LintFinding] {
        let response = LintedResponse(response: response, contents: response.contents(), date: date)
        return ResponseRules.all.flatMap { $0.findings(response) }
    }

    /// The findings about a configuration profile, excluding findings about the certificates in it.
    package static func findings(in profile: LintedProfile) -> [LintFinding] {
        ProfileRules.all.flatMap { $0.findings(profile) }
    }

    /// The findings about names and serial numbers only, which need neither a time nor an issuer. `show` and `browse`
    /// print these.
    package static func irregularities(in certificate: Certificate) -> [LintFinding] {
        CredentialRules.names.findings(LintedCertificate(certificate, at: .distantPast, issuer: nil))
    }

    /// Finds a certificate's issuer among `others`, by name and key identifier. Returns nil if no certificate matches,
    /// or if the certificate is self-issued.
    package static func issuer(of certificate: Certificate, among others: [Certificate]) -> Certificate? {
        guard !certificate.isSelfIssued else { return nil }
        let named = others.filter { $0.subject == certificate.issuer && $0 != certificate }
        guard let identifier = certificate.authorityKeyIdentifier else { return named.first }
        return named.first { $0.subjectKeyIdentifier == identifier }
    }
}
