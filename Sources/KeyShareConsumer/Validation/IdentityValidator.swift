internal import CertificateReading
package import Foundation
internal import KeySharing
package import OpenSSL
package import PathValidation

/// Validates identities in the keychain or in a file: their paths, dates and key usage, and whether the private key
/// belongs to the certificate.
///
/// One validator serves many identities, and caches its findings about certificates and revocation lists. Use each
/// instance on only one thread.
package final class IdentityValidator {
    /// The time at which certificates must be valid.
    package let date: Date
    /// The limits of the path searches.
    package var limits: PathLimits {
        get { paths.limits }
        set { paths.limits = newValue }
    }

    private let clock: () -> Date
    private let paths: PathValidator
    private let fetcher: MaterialFetcher?

    /// Creates a validator.
    ///
    /// - Parameters:
    ///   - verifier: The requirements for every path. If they include no purpose, the expected key usages depend on
    ///     the type of each identity.
    ///   - pool: The certificates from which paths are built, including the trusted ones.
    ///   - revocation: Lists and OCSP responses.
    ///   - fetcher: Fetches missing material from the URLs in certificates; nil to fetch nothing.
    ///   - date: The time of validation. It is evaluated again after each fetch.
    package init(
        _ verifier: CertificateVerifier, pool: CertificatePool, revocation: RevocationPool = .init(),
        fetcher: MaterialFetcher? = nil, at date: @escaping @autoclosure () -> Date
    ) {
        paths = PathValidator(verifier, pool: pool, revocation: revocation)
        self.fetcher = fetcher
        clock = date
        self.date = date()
    }

    /// Performs all checks of an identity, even after one has failed.
    package func validate(_ subject: ValidationSubject) async -> ValidationReport {
        let summary = IdentitySummary(subject.certificate)
        // Can be negative after a search that took too long. The next searches then have no time, and end early.
        paths.remainingTime = (paths.remainingTime ?? limits.totalTime) + limits.identityTime
        let asked = paths.verifier
        defer { paths.verifier = asked }
        if asked.purpose == nil, subject.keyMatches != nil {
            let type = summary.type(under: .keySharing2025)
            paths.verifier.expectedKeyUsage = type.expectedKeyUsage(
                isEllipticCurve: summary.facts.isEllipticCurve)
            paths.verifier.expectedExtendedKeyUsage = type.expectedExtendedKeyUsage
        }
        let (validation, fetched) = await path(for: subject)
        let (match, keyError) = Self.keyMatch(subject)
        return ValidationReport(
            identity: summary, certificate: subject.certificate,
            checks: [match]
                + validation.verification.checks.map {
                    .init(name: $0.kind.words, outcome: $0.outcome, explanation: $0.explanation)
                },
            keyError: keyError,
            isValid: validation.isValid && (subject.keyMatches == nil || match.outcome == .passed),
            hasOnlyExpired: match.outcome != .failed && keyError == nil
                && hasOnlyExpired(subject, validation.verification),
            validation: validation, fetched: fetched)
    }

    private func path(for subject: ValidationSubject) async -> (PathValidation, [FetchRecord]) {
        guard let fetcher else {
            return (paths.validate(subject.certificate, accompaniedBy: subject.intermediates, at: date), [])
        }
        return await fetcher.validate(
            subject.certificate, accompaniedBy: subject.intermediates, at: clock(), with: paths)
    }

    /// Whether the certificate is invalid only because certificates have expired.
    private func hasOnlyExpired(_ subject: ValidationSubject, _ result: Verification) -> Bool {
        guard !result.isValid, !paths.verifier.allowsExpired,
            subject.certificate.notAfter < date || result.problems.contains(where: \.isExpired)
        else { return false }
        paths.verifier.allowsExpired = true
        defer { paths.verifier.allowsExpired = false }
        return paths.validate(subject.certificate, accompaniedBy: subject.intermediates, at: date).isValid
    }

    /// Checks whether the private key belongs to the certificate (docs/rules.md R7.7).
    private static func keyMatch(
        _ subject: ValidationSubject
    ) -> (check: ValidationReport.Check, error: (any Error)?) {
        guard let keyMatches = subject.keyMatches else {
            let check = ValidationReport.Check(
                name: "key match", outcome: .notChecked, explanation: "the private key is not available")
            return (check, nil)
        }
        let (outcome, explanation, failure): (Verification.Outcome, String, (any Error)?)
        do {
            let matches = try keyMatches.get()
            outcome = matches ? .passed : .failed
            explanation =
                matches
                ? "the private key belongs to the certificate"
                : "the private key does not belong to the certificate"
            failure = nil
        } catch {
            (outcome, explanation, failure) = (.notChecked, "\(error)", error)
        }
        return (.init(name: "key match", outcome: outcome, explanation: explanation), failure)
    }
}
