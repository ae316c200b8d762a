internal import CertificateReading
package import Foundation
package import OpenSSL
package import PathValidation
package import SecureMail

/// Judges received messages as a mail program does: signatures, signers' paths, senders, encryption and header fields.
///
/// One validator serves many messages. Use each instance on only one thread.
package final class MessageValidator {
    private let paths: PathValidator
    private let fetcher: MaterialFetcher?
    private let date: Date?
    private let now: Date
    private var addresses = AddressCache()
    /// The limits of the path searches.
    package var limits: PathLimits {
        get { paths.limits }
        set { paths.limits = newValue }
    }

    /// Creates a validator.
    ///
    /// - Parameters:
    ///   - verifier: The requirements for the signers' paths. Without a purpose, the certificates must be suitable for
    ///     signing messages (``CertificatePurpose/smimesign``).
    ///   - pool: The certificates from which paths are built, including the trusted ones.
    ///   - revocation: Lists and OCSP responses.
    ///   - fetcher: Fetches missing material from the URLs in certificates; nil to fetch nothing.
    ///   - date: The time at which signers' paths must be valid; nil for the signing time of each signature.
    ///   - now: The current time, for signatures without a signing time, and for revocation.
    package init(
        _ verifier: CertificateVerifier, pool: CertificatePool, revocation: RevocationPool = .init(),
        fetcher: MaterialFetcher? = nil, at date: Date?, now: Date
    ) {
        var verifier = verifier
        verifier.purpose = verifier.purpose ?? .smimesign
        paths = PathValidator(verifier, pool: pool, revocation: revocation)
        self.fetcher = fetcher
        self.date = date
        self.now = now
    }

    /// Judges a message and each of its S/MIME parts.
    package func validate(_ contents: MessageContents) async -> MessageReport {
        paths.remainingTime = limits.totalTime
        addresses = AddressCache()
        var parts: [MessageReport.Part] = []
        for part in contents.parts { parts.append(await judge(part)) }
        return MessageReport(
            header: contents.header, checks: [MessageChecks.structure(of: contents)], parts: parts,
            unprotected: contents.unprotected)
    }

    private func judge(_ part: MessageContents.ProtectedPart) async -> MessageReport.Part {
        var signers: [MessageReport.Signer] = []
        // The signers of the innermost layer, which are the only ones who know the content.
        var authors: [MessageReport.Signer] = []
        for (index, layer) in part.layers.enumerated() {
            guard case .signed(let reports, let certificates, let lists) = layer else { continue }
            var searches = SignerSearches(certificates: certificates, lists: lists)
            for report in reports {
                let signer = await judge(report, of: part, &searches)
                signers.append(signer)
                if index == part.layers.count - 1, part.failure == nil { authors.append(signer) }
            }
        }
        let signed = MessageChecks.signature(of: part, by: authors)
        let others = [MessageChecks.encryption(of: part), MessageChecks.header(of: part)]
        return MessageReport.Part(
            part: part, checks: [signed] + others, signers: signers,
            hasOnlyExpired: signed.outcome == .failed && others.areAllGood
                && authors.contains(where: \.hasOnlyExpired)
                && !authors.contains { $0.signature.outcome == .mismatch })
    }

    // MARK: - Signers

    private func judge(
        _ report: CMSSignerReport, of part: MessageContents.ProtectedPart, _ searches: inout SignerSearches
    ) async -> MessageReport.Signer {
        let (date, time) = time(of: report)
        let ownChecks = [MessageChecks.signature(report), time]
        guard let certificate = report.certificate else {
            return MessageReport.Signer(
                signature: report, date: date, checks: ownChecks, validation: nil, fetched: [],
                hasOnlyExpired: false)
        }
        let sender = MessageChecks.sender(of: part, signedBy: certificate, addresses)
        let key = SignerSearches.Key(certificate: certificate, date: date)
        let known = searches.results[key]
        guard known != nil || !isOutOfTime else {
            let check = ValidationReport.Check(
                name: Verification.Kind.chain.words, outcome: .unsettled, explanation: outOfTime)
            return MessageReport.Signer(
                signature: report, date: date, checks: ownChecks + [check, sender], validation: nil,
                fetched: [],
                hasOnlyExpired: false)
        }
        var search: SignerSearches.Result
        if let known {
            search = known
        } else {
            search = await self.search(
                certificate, accompaniedBy: searches.others(than: certificate), searches.lists, at: date)
        }
        let checks = ownChecks + search.checks + [sender]
        var isOnlyExpired = !checks.areAllGood && (ownChecks + [sender]).areAllGood
        if isOnlyExpired {
            isOnlyExpired =
                search.hasOnlyExpired
                ?? hasOnlyExpired(
                    certificate, accompaniedBy: searches.others(than: certificate), searches.lists,
                    at: date, search.validation)
            search.hasOnlyExpired = isOnlyExpired
        }
        searches.results[key] = search
        return MessageReport.Signer(
            signature: report, date: date, checks: checks, validation: search.validation,
            fetched: search.fetched, hasOnlyExpired: isOnlyExpired)
    }

    /// Searches for the path of a signer, and checks the signer's revocation at the current time.
    private func search(
        _ certificate: Certificate, accompaniedBy others: [Certificate], _ lists: [EncodedRevocationList],
        at date: Date
    ) async -> SignerSearches.Result {
        let (validation, fetched, isSettledByMessage) = await path(
            of: certificate, accompaniedBy: others, lists, at: date)
        var checks = Self.checks(validation)
        if self.date == nil, date != now {
            checks = await addingLaterRevocation(
                checks, isSettledByMessage: isSettledByMessage, of: certificate, accompaniedBy: others, lists)
        }
        return SignerSearches.Result(validation: validation, fetched: fetched, checks: checks)
    }

    /// The time at which a signer's path must be valid, and the check of the claimed signing time.
    private func time(of report: CMSSignerReport) -> (Date, ValidationReport.Check) {
        let name = "signing time"
        let signed = report.outcome == .sound ? report.signingTime : nil
        let text = signed?.ISO8601Format() ?? Self.reasonWithoutTime(report)
        if let date {
            return (date, .init(name: name, outcome: .notChecked, explanation: text + "; validated at --at"))
        }
        guard let signed else {
            return (
                now,
                .init(name: name, outcome: .notChecked, explanation: text + "; validated at the current time")
            )
        }
        // Clocks may differ by a few minutes.
        guard signed <= now.addingTimeInterval(300) else {
            return (now, .init(name: name, outcome: .failed, explanation: text + " is in the future"))
        }
        return (signed, .init(name: name, outcome: .passed, explanation: text + ", as the signer claims"))
    }

    /// The reason why a signature has no signing time that can be used.
    private static func reasonWithoutTime(_ report: CMSSignerReport) -> String {
        guard report.hasSigningTime else { return "the signature contains none" }
        return switch report.outcome {
        case .sound: "the signing time cannot be read (RFC 5652, 11.3)"
        case .mismatch, .unsuitableAttributes: "not used, because the signature is not valid"
        case .missingCertificate, .unsupported: "not used, because the signature was not verified"
        }
    }

    /// Whether the searches for the message have taken too long, so that no other is begun.
    private var isOutOfTime: Bool { paths.remainingTime.map { $0 <= .zero } ?? false }

    private var outOfTime: String {
        "not checked: the path searches for a message may take at most \(limits.totalTime / .seconds(1)) s"
    }

    /// Validates the path of a signer, and fetches what is missing.
    ///
    /// The issuer signs lists, so a list in the message can settle revocation, for example if it is newer than the
    /// others. But the signature does not cover the list, so the sender or an attacker chose it. An old list does not
    /// contain a later revocation, and an expired one is unusable. So these lists are used only if they show a revocation,
    /// or if they settle the question and the others do not.
    ///
    /// - Returns: The path, what was fetched, and whether only the lists in the message settle revocation.
    private func path(
        of certificate: Certificate, accompaniedBy others: [Certificate], _ lists: [EncodedRevocationList],
        at date: Date
    ) async -> (PathValidation, [FetchRecord], isSettledByMessage: Bool) {
        let (own, fetched) = await path(of: certificate, accompaniedBy: others, at: date)
        guard !lists.isEmpty, !isOutOfTime, own.isValid || own.revokedAttempt == nil else {
            return (own, fetched, false)
        }
        paths.revocation = paths.revocation.adding(lists: lists)
        // Keeps what is fetched, which is not fetched again for the next certificate.
        defer { paths.revocation = paths.revocation.removing(lists: lists) }
        let (all, others) = await path(of: certificate, accompaniedBy: others, at: date)
        let isSettledByMessage =
            own.verification.check(.revocation).outcome != .passed
            && all.verification.check(.revocation).outcome == .passed
        let isRevoked = all.verification.problems.contains(where: \.isRevoked)
        return (
            isRevoked || isSettledByMessage ? all : own, fetched + others.filter { !fetched.contains($0) },
            isSettledByMessage
        )
    }

    private func path(
        of certificate: Certificate, accompaniedBy others: [Certificate], at date: Date
    ) async -> (PathValidation, [FetchRecord]) {
        guard let fetcher else { return (paths.validate(certificate, accompaniedBy: others, at: date), []) }
        return await fetcher.validate(certificate, accompaniedBy: others, at: date, with: paths)
    }

    private static func checks(_ validation: PathValidation) -> [ValidationReport.Check] {
        validation.verification.checks.map {
            .init(name: $0.kind.words, outcome: $0.outcome, explanation: $0.explanation)
        }
    }

    /// Also checks revocation at the current time. Only the signer claims the signing time, and a stolen key can sign
    /// with any claim, so a certificate that was revoked after that time fails.
    ///
    /// A message can contain any number of certificates, which lengthen the search or lead it to other anchors. So the
    /// check also fails if the certificate is revoked on any path and no path is valid, and it is not settled if a limit
    /// ended the search. If only lists in the message settle revocation at the signing time, it must also be settled at the
    /// current time, because the holder of a stolen key chooses both the lists and the signing time.
    private func addingLaterRevocation(
        _ checks: [ValidationReport.Check], isSettledByMessage: Bool, of certificate: Certificate,
        accompaniedBy others: [Certificate], _ lists: [EncodedRevocationList]
    ) async -> [ValidationReport.Check] {
        let name = Verification.Kind.revocation.words
        guard let place = checks.firstIndex(where: { $0.name == name }) else { return checks }
        if isOutOfTime {
            guard checks[place].outcome != .failed else { return checks }
            var checks = checks
            checks[place] = .init(name: name, outcome: .unsettled, explanation: outOfTime)
            return checks
        }
        let allowed = paths.verifier.allowsExpired
        paths.verifier.allowsExpired = true
        defer { paths.verifier.allowsExpired = allowed }
        let (later, _, _) = await path(of: certificate, accompaniedBy: others, lists, at: now)
        let current = later.verification.check(.revocation)
        let check =
            Self.laterCheck(later, after: checks[place].outcome)
            ?? (isSettledByMessage && current.outcome != .passed
                ? (current.outcome, current.explanation) : nil)
        guard let check else { return checks }
        var checks = checks
        checks[place] = .init(
            name: name, outcome: check.outcome, explanation: check.explanation + " (at the current time)")
        return checks
    }

    /// The outcome of revocation at the current time, if it replaces the one at the signing time; otherwise nil.
    private static func laterCheck(
        _ later: PathValidation, after earlier: Verification.Outcome
    ) -> (outcome: Verification.Outcome, explanation: String)? {
        let check = later.verification.check(.revocation)
        if check.outcome == .failed { return (.failed, check.explanation) }
        if !later.isValid, let revoked = later.revokedAttempt { return (.failed, revoked.explanation) }
        // A pass at the current time changes nothing if there was one at the signing time.
        if check.outcome == .passed { return earlier == .passed ? nil : (.passed, check.explanation) }
        return earlier == .passed && later.isIncomplete
            ? (.unsettled, "a limit ended the search for paths") : nil
    }

    private func hasOnlyExpired(
        _ certificate: Certificate, accompaniedBy others: [Certificate], _ lists: [EncodedRevocationList],
        at date: Date, _ validation: PathValidation
    ) -> Bool {
        guard !validation.isValid, !paths.verifier.allowsExpired, !isOutOfTime,
            certificate.notAfter < date || validation.verification.problems.contains(where: \.isExpired)
        else { return false }
        let available = paths.revocation
        paths.verifier.allowsExpired = true
        paths.revocation = available.adding(lists: lists)
        defer { (paths.verifier.allowsExpired, paths.revocation) = (false, available) }
        return paths.validate(certificate, accompaniedBy: others, at: date).isValid
    }
}

/// The path searches for the signers of one signed layer. Signatures with the same signer and time share the result.
private struct SignerSearches {
    /// A signer's certificate and the time at which its path must be valid.
    struct Key: Hashable {
        let certificate: Certificate
        let date: Date
    }

    struct Result {
        let validation: PathValidation
        let fetched: [FetchRecord]
        /// The checks of the path.
        let checks: [ValidationReport.Check]
        /// Whether the path is invalid only because certificates have expired; nil if this was not examined.
        var hasOnlyExpired: Bool?
    }

    /// The certificates in the message.
    let certificates: [Certificate]
    /// The revocation lists in the message.
    let lists: [EncodedRevocationList]
    var results: [Key: Result] = [:]

    /// The certificates that accompany a signer.
    func others(than certificate: Certificate) -> [Certificate] { certificates.filter { $0 != certificate } }
}
