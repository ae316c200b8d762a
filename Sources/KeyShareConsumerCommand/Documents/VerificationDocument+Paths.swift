internal import CommandSupport
internal import Foundation
package import KeySharing
package import OpenSSL
package import PathValidation

extension VerificationDocument.Result {
    /// Creates the result of the checks of one identity.
    ///
    /// - Parameters:
    ///   - identity: The summary of the identity.
    ///   - file: The file of the identity, as named on the command line; nil for an identity in the keychain.
    ///   - isValid: Whether every relevant check passed.
    ///   - hasOnlyExpired: Whether the identity is invalid only because certificates have expired.
    ///   - checks: The checks in order.
    ///   - validation: The path, and all paths that were tried.
    ///   - fetched: The URLs of missing material; nil if fetching was not enabled.
    package init(
        _ identity: IdentitySummary, file: String?, isValid: Bool,
        hasOnlyExpired: Bool, checks: [VerificationDocument.Check], validation: PathValidation,
        fetched: [FetchRecord]?
    ) {
        self.init(
            IdentityDocument(identity),
            VerificationDocument.ResultFields(
                file: file, valid: isValid, expired: hasOnlyExpired, checks: checks,
                path: validation.path.map(VerificationDocument.Link.init),
                attempts: validation.attempts.map(VerificationDocument.Attempt.init),
                chosen: validation.chosen, end: validation.end.name,
                fetched: fetched.map { $0.map(VerificationDocument.Fetched.init) }))
    }
}

extension VerificationDocument.Link {
    /// Creates the entry for one certificate of a path.
    init(_ link: PathValidation.Link) {
        let certificate = link.certificate
        role = link.role.rawValue
        subject = "\(certificate.subject)"
        issuer = "\(certificate.issuer)"
        serial = certificate.serialHex
        label = certificate.label
        notBefore = certificate.notBefore
        notAfter = certificate.notAfter
        policies = link.policies
        policyNames = link.policies.map { IdentifierDocument(.policy($0)) }
        constraints = Constraints(link.constraints)
        revocation = link.revocation.map(Revocation.init)
        problems = link.problems.map(\.reason)
    }
}

extension VerificationDocument.Link.Constraints {
    /// Copies the constraints of an authority; nil if there are none.
    fileprivate init?(_ constraints: AuthorityConstraints) {
        guard constraints.isAny else { return nil }
        func unlessEmpty<Element>(_ list: [Element]) -> [Element]? { list.isEmpty ? nil : list }
        pathLength = constraints.pathLength
        permittedNames = unlessEmpty(constraints.permittedNames.map(\.description))
        excludedNames = unlessEmpty(constraints.excludedNames.map(\.description))
        policyMappings = unlessEmpty(
            constraints.policyMappings.map {
                Mapping(issuerPolicy: $0.issuerPolicy, subjectPolicy: $0.subjectPolicy)
            })
        requireExplicitPolicy = constraints.requireExplicitPolicy
        inhibitPolicyMapping = constraints.inhibitPolicyMapping
        inhibitAnyPolicy = constraints.inhibitAnyPolicy
    }
}

extension VerificationDocument.Link.Revocation {
    fileprivate init(_ source: RevocationSource) {
        switch source {
        case .list(let issuer, let thisUpdate, let nextUpdate, let isDelta, let revocation):
            self.init(
                source: isDelta ? "delta" : "list", issuer: "\(issuer)", thisUpdate: thisUpdate,
                nextUpdate: nextUpdate, revokedAt: revocation?.date, reason: revocation?.reasonName)
        case .response(let thisUpdate, let nextUpdate, let revocation):
            self.init(
                source: "response", issuer: nil, thisUpdate: thisUpdate, nextUpdate: nextUpdate,
                revokedAt: revocation?.date, reason: revocation?.reasonName)
        }
    }
}

extension VerificationDocument.Attempt {
    fileprivate init(_ attempt: PathValidation.Attempt) {
        subjects = attempt.certificates.map { "\($0.subject)" }
        labels = attempt.certificates.map(\.label)
        anchored = attempt.isAnchored
        failures = attempt.failures.map(VerificationDocument.Check.init)
    }
}

extension VerificationDocument.Check {
    /// Converts a check of the verifier to its JSON form.
    package init(_ check: Verification.Check) {
        self.init(
            check: check.kind.words, outcome: check.outcome.words, explanation: check.explanation)
    }
}

extension VerificationDocument.Fetched {
    /// Creates the entry for one request.
    init(_ record: FetchRecord) {
        self.init(
            url: record.url, kind: record.kind.rawValue, arrived: record.hasArrived, outcome: record.outcome)
    }
}

extension PathValidation.End {
    /// The stable name in JSON documents.
    var name: String {
        switch self {
        case .found: "found"
        case .exhausted: "exhausted"
        case .leafFault: "leaf-fault"
        case .candidateLimit: "candidate-limit"
        case .timeLimit: "time-limit"
        case .stepLimit: "step-limit"
        }
    }

    /// The reason why the search ended, as a sentence without a full stop.
    var sentence: String {
        switch self {
        case .found: "a valid path was found"
        case .exhausted: "no other path exists"
        case .leafFault: "the certificate itself is invalid, so no other path can be valid"
        case .candidateLimit(let count): "the limit of \(count) paths was reached; there may be others"
        case .timeLimit(let seconds):
            "the limit of \(seconds.formatted()) s was reached; there may be other paths"
        case .stepLimit(let count):
            "the limit of \(count) partial paths was reached; there may be other paths"
        }
    }
}
