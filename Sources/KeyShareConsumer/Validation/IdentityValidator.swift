internal import CertificateReading
package import Foundation
internal import KeySharing
package import OpenSSL

/// Validates identities that were imported or that are in a file: chain, dates, usage for the identity's
/// type, and whether the private key is the certificate's.
///
/// What is trusted and what else is checked are properties of `verifier`; the usages that it expects are set
/// for each identity from the identity's type.
package struct IdentityValidator: Sendable {
    /// The verifier of certificates: trust anchors, intermediates, revocation lists, policies.
    package var verifier: CertificateVerifier
    /// The time that validity is judged at.
    package var date: Date

    /// Makes a validator that refuses RSA keys below 2,048 bits and signatures over SHA-1 (OpenSSL's security
    /// level 2).
    ///
    /// - Parameters:
    ///   - certificates: the self-signed ones are trusted, the others help to build chains.
    ///   - date: the moment as of which validity is judged.
    package init(trusting certificates: [Certificate], at date: Date) {
        verifier = CertificateVerifier(trustAnchors: certificates.filter(\.isSelfIssued))
        verifier.intermediates = certificates.filter { !$0.isSelfIssued }
        verifier.securityLevel = 2
        self.date = date
    }

    /// Makes every check of an identity, whatever the others say.
    package func validate(_ subject: ValidationSubject) -> ValidationReport {
        let summary = IdentitySummary(subject.certificate)
        let type = summary.type(.keySharing2025)
        var verifier = verifier
        verifier.intermediates += subject.intermediates
        verifier.expectedKeyUsage = type.expectedKeyUsage(isEllipticCurve: summary.facts.isEllipticCurve)
        verifier.expectedExtendedKeyUsage = type.expectedExtendedKeyUsage
        let verification = verifier.verify(subject.certificate, at: date)
        let (match, keyError) = Self.keyMatch(subject)
        return ValidationReport(
            identity: summary,
            checks: [match]
                + verification.checks.map {
                    .init(name: $0.kind.words, outcome: $0.outcome, explanation: $0.explanation)
                },
            keyError: keyError, isValid: verification.isValid && match.outcome == .passed)
    }

    /// The check whether the private key is the certificate's (docs/rules.md R7.7).
    private static func keyMatch(
        _ subject: ValidationSubject
    ) -> (check: ValidationReport.Check, error: (any Error)?) {
        let (outcome, explanation, failure): (Verification.Outcome, String, (any Error)?)
        do {
            let matches = try subject.privateKey.get().matches(subject.certificate)
            outcome = matches ? .passed : .failed
            explanation =
                matches ? "the private key is the certificate's" : "the private key is another one's"
            failure = nil
        } catch {
            (outcome, explanation, failure) = (.notChecked, "\(error)", error)
        }
        return (.init(name: "key match", outcome: outcome, explanation: explanation), failure)
    }
}
