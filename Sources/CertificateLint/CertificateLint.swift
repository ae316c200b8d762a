package import Foundation
package import OpenSSL

/// Finds properties of certificates, keys, revocation lists, status responses and configuration profiles that break a
/// rule of a standard. Nothing is verified.
///
/// A lint does not decide whether an object can be used: a certificate with findings may be valid, and one without may
/// be revoked. All functions are pure; the time is a parameter.
package enum CertificateLinter {
    /// The description of one rule, for the table of codes.
    package struct RuleDescription: Sendable, Hashable {
        /// The kind of object: `certificate`, `key`, `list`, `response` or `profile`.
        package let subject: String
        /// The stable name of the rule.
        package let code: String
        /// The weight of the findings.
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
            + ListRules.all.map { RuleDescription("list", $0) }
            + ResponseRules.all.map { RuleDescription("response", $0) }
            + ProfileRules.all.map { RuleDescription("profile", $0) }
    }

    private static let certificateRules =
        CredentialRules.names + FieldRules.all + ExtensionRules.all + NameRules.all + PolicyRules.all
        + CredentialRules.all

    /// The findings about a certificate and its key.
    ///
    /// - Parameters:
    ///   - certificate: the certificate.
    ///   - date: the time at which it is examined.
    ///   - issuer: the issuer's certificate, which is compared with it; nil if it is not known.
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

    /// The findings about a revocation list at a time.
    package static func findings(in list: CertificateRevocationList, at date: Date) -> [LintFinding] {
        let list = EncodedList(list, at: date)
        return ListRules.all.flatMap { $0.findings(list) }
    }

    /// The findings about an OCSP response at a time.
    package static func findings(in response: StatusResponse, at date: Date) -> [LintFinding] {
        let response = LintedResponse(response: response, contents: response.contents(), date: date)
        return ResponseRules.all.flatMap { $0.findings(response) }
    }

    /// The findings about a configuration profile, without those about its certificates.
    package static func findings(in profile: LintedProfile) -> [LintFinding] {
        ProfileRules.all.flatMap { $0.findings(profile) }
    }

    /// The irregularities of names and serial numbers, which need neither a time nor an issuer. `show` and `browse`
    /// print only these.
    package static func irregularities(in certificate: Certificate) -> [LintFinding] {
        CredentialRules.names.findings(LintedCertificate(certificate, at: .distantPast, issuer: nil))
    }

    /// The issuer of a certificate among others, by name and key identifier; nil if it is not among them.
    package static func issuer(of certificate: Certificate, among others: [Certificate]) -> Certificate? {
        guard !certificate.isSelfIssued else { return nil }
        let named = others.filter { $0.subject == certificate.issuer && $0 != certificate }
        guard let identifier = certificate.authorityKeyIdentifier else { return named.first }
        return named.first { $0.subjectKeyIdentifier == identifier }
    }
}
