internal import COpenSSL
internal import Diagnostics

/// Explains the errors of OpenSSL's verifier to users, with the affected names and certificates, and adds errors that
/// OpenSSL does not detect.
struct PathReview {
    private let chain: [Certificate]
    private let verifier: CertificateVerifier
    /// The revocations that the lists contain, keyed by the depth of the certificate.
    private let revocations: [Int: CertificateRevocation]
    private let objects: VerificationObjects

    /// Creates a review of a chain, leaf first, that was verified with the settings of `verifier`.
    init(
        _ chain: [Certificate], _ verifier: CertificateVerifier, _ revocations: [Int: CertificateRevocation],
        _ objects: VerificationObjects
    ) {
        self.chain = chain
        self.verifier = verifier
        self.revocations = revocations
        self.objects = objects
    }

    // MARK: - Words

    /// The errors with explanations for users, without errors that repeat another one.
    func inPlainWords(_ problems: [Verification.Problem]) -> [Verification.Problem] {
        let hasCause = problems.contains { Self.causes.contains(CInt(truncatingIfNeeded: $0.code)) }
        return problems.filter {
            !hasCause || !Self.consequences.contains(CInt(truncatingIfNeeded: $0.code))
        }.map { problem in
            guard let words = words(for: problem) else { return problem }
            return Verification.Problem(
                code: problem.code, reason: words, depth: problem.depth, subject: problem.subject)
        }
    }

    /// Errors that are a reason why no anchor was reached.
    private static let causes: Set<CInt> = [
        X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
        X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
    ]
    /// Errors that only repeat that no anchor was reached, without a cause.
    private static let consequences: Set<CInt> = [
        X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED,
    ]

    /// An explanation of an error for users; nil if OpenSSL's own text is clear.
    private func words(for problem: Verification.Problem) -> String? {
        guard chain.indices.contains(problem.depth) else { return nil }
        let certificate = chain[problem.depth]
        let issuer = chain.indices.contains(problem.depth + 1) ? chain[problem.depth + 1] : nil
        switch CInt(truncatingIfNeeded: problem.code) {
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            return "no trusted certificate of its issuer, \(certificate.issuer), was provided"
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            return "the certificate is self-signed and not trusted"
        case X509_V_ERR_CERT_SIGNATURE_FAILURE:
            return issuer.map {
                "its signature was not made with the key of \($0.subject), serial number \($0.serialHex)"
            }
        case X509_V_ERR_CERT_REVOKED: return revocations[problem.depth].map { "\($0)" }
        case X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION, X509_V_ERR_SUBTREE_MINMAX,
            X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE, X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX,
            X509_V_ERR_UNSUPPORTED_NAME_SYNTAX:
            return namesOutside(problem)
        case X509_V_ERR_NO_EXPLICIT_POLICY: return missingPolicy
        case X509_V_ERR_OUT_OF_MEM: return "the path has too many policies and policy mappings"
        case X509_V_ERR_INVALID_CA where objects.hasInvalidExtension(certificate),
            X509_V_ERR_UNSPECIFIED where chain.contains(where: objects.hasInvalidExtension):
            return Self.invalidExtension
        default: return nil
        }
    }

    /// The names that a constraint rejects, and the authority with the constraint.
    private func namesOutside(_ problem: Verification.Problem) -> String? {
        for authority in chain.dropFirst(problem.depth + 1).reversed() {
            let rejected = objects.rejectedNames(of: chain[problem.depth], under: authority)
                .filter { $0.code == problem.code }.map(\.name)
            guard !rejected.isEmpty else { continue }
            return words(for: rejected, problem, under: authority)
        }
        return nil
    }

    private func words(
        for rejected: [GeneralName], _ problem: Verification.Problem, under authority: Certificate
    ) -> String {
        let names =
            rejected.prefix(3).map(\.description).joined(separator: ", ")
            + (rejected.count > 3 ? " and \(rejected.count - 3) more" : "")
        let constraints = objects.constraints(of: authority)
        func subtrees(_ names: [GeneralName]) -> String {
            // An emailAddress in the subject is compared with names of another type.
            let alike = names.filter { $0.kind == rejected.first?.kind }
            return (alike.isEmpty ? names : alike).map(\.description).joined(separator: ", ")
        }
        return switch CInt(truncatingIfNeeded: problem.code) {
        case X509_V_ERR_PERMITTED_VIOLATION:
            "\(names): \(authority.subject) permits only \(subtrees(constraints.permittedNames))"
        case X509_V_ERR_EXCLUDED_VIOLATION:
            "\(names): \(authority.subject) excludes \(subtrees(constraints.excludedNames))"
        default: "\(names): \(problem.reason), constrained by \(authority.subject)"
        }
    }

    // MARK: - Policies

    /// The policy requirement, and the certificate at which no policy remained valid (RFC 5280 6.1.3 (d), 6.1.4 (b)).
    private var missingPolicy: String {
        let demand =
            if !verifier.acceptedPolicies.isEmpty {
                "you require one of the policies " + Self.names(verifier.acceptedPolicies)
            } else if verifier.requiresExplicitPolicy {
                "you require a policy"
            } else if let authority = chain.indices.dropLast().last(where: demandsPolicy) {
                "\(chain[authority].subject) requires a policy"
            } else {
                "a policy is required"
            }
        return "\(demand), and \(endOfPolicies)"
    }

    /// Whether the certificate at a depth requires the leaf to have a valid policy.
    private func demandsPolicy(_ depth: Int) -> Bool {
        guard let skipped = objects.constraints(of: chain[depth]).requireExplicitPolicy else { return false }
        return skipped <= chain[..<depth].count { !$0.isSelfIssued }
    }

    /// A phrase that names the first certificate, from the anchor down, at which no policy remains valid. If some
    /// policies remain valid for the whole path, the phrase names those policies, as the first authorities name them.
    private var endOfPolicies: String {
        // The valid policies at the current certificate, each with the policies that were mapped to it.
        var left: [String: Set<String>] = [Self.anyPolicy: [Self.anyPolicy]]
        var above = "the anchor"
        var anyPolicyLimit = verifier.inhibitsAnyPolicy ? 0 : chain.count
        var mappingLimit = verifier.inhibitsPolicyMapping ? 0 : chain.count
        // The anchor's own policies are not processed.
        for depth in chain.indices.dropLast().reversed() {
            let certificate = chain[depth]
            let asserted = Set(certificate.policies)
            if asserted.isEmpty { return "\(certificate.subject) has no policy" }
            let acceptsAny = anyPolicyLimit > 0 || depth > 0 && certificate.isSelfIssued
            if !acceptsAny, asserted == [Self.anyPolicy] {
                return "anyPolicy, the only policy of \(certificate.subject), is inhibited"
            }
            let kept = Self.kept(left, asserted, acceptsAny: acceptsAny)
            if kept.isEmpty {
                return
                    "none of the policies of \(certificate.subject) (\(Self.names(asserted.sorted()))) is permitted "
                    + "by \(above) (\(Self.names(left.keys.sorted())))"
            }
            let constraints = objects.constraints(of: certificate)
            left = depth == 0 ? kept : Self.mapped(kept, constraints.policyMappings, allows: mappingLimit > 0)
            if left.isEmpty {
                return
                    "none of the policies of \(certificate.subject) (\(Self.names(asserted.sorted()))) remains valid, "
                    + "because it maps them and mapping is inhibited"
            }
            if !certificate.isSelfIssued {
                anyPolicyLimit = max(0, anyPolicyLimit - 1)
                mappingLimit = max(0, mappingLimit - 1)
            }
            anyPolicyLimit = min(anyPolicyLimit, constraints.inhibitAnyPolicy ?? .max)
            mappingLimit = min(mappingLimit, constraints.inhibitPolicyMapping ?? .max)
            above = "\(certificate.subject)"
        }
        let origins = left.values.reduce(into: Set<String>()) { $0.formUnion($1) }
        // Without a known reason, the phrase must not contradict the requirement.
        guard !origins.contains(Self.anyPolicy), origins.isDisjoint(with: verifier.acceptedPolicies),
            !verifier.acceptedPolicies.isEmpty
        else { return "the path is not valid for any" }
        return "the path is valid for \(Self.names(origins.sorted())) only"
    }

    /// RFC 5280 4.2.1.4.
    private static let anyPolicy = "2.5.29.32.0"

    /// The valid policies that a certificate keeps, because it asserts them or anyPolicy (RFC 5280 6.1.3 (d)).
    ///
    /// - Parameter acceptsAny: Whether anyPolicy in the certificate matches other policies.
    private static func kept(
        _ valid: [String: Set<String>], _ asserted: Set<String>, acceptsAny: Bool
    ) -> [String: Set<String>] {
        var kept = acceptsAny && asserted.contains(anyPolicy) ? valid : [:]
        for policy in asserted where policy != anyPolicy {
            if let origins = valid[policy] {
                kept[policy] = origins
            } else if valid[anyPolicy] != nil {
                kept[policy] = [policy]
            }
        }
        return kept
    }

    /// The valid policies after the mappings of an authority (RFC 5280 6.1.4 (b)).
    ///
    /// - Parameter allows: Whether mapping is allowed. If not, a mapped policy is no longer valid.
    private static func mapped(
        _ valid: [String: Set<String>], _ mappings: [AuthorityConstraints.PolicyMapping], allows: Bool
    ) -> [String: Set<String>] {
        var mapped = valid
        for mapping in mappings { mapped[mapping.issuerPolicy] = nil }
        guard allows else { return mapped }
        for mapping in mappings {
            let origins =
                valid[mapping.issuerPolicy] ?? (valid[anyPolicy] == nil ? [] : [mapping.issuerPolicy])
            guard !origins.isEmpty else { continue }
            mapped[mapping.subjectPolicy, default: []].formUnion(origins)
        }
        return mapped
    }

    private static func names(_ policies: [String]) -> String {
        policies.map { "\(NamedIdentifier.policy($0))" }.joined(separator: ", ")
    }

    // MARK: - Rules that OpenSSL does not check

    /// The errors that OpenSSL does not detect, in the order of the path from the leaf to the anchor.
    ///
    /// - Parameter problems: The errors that OpenSSL detects.
    func furtherProblems(than problems: [Verification.Problem]) -> [Verification.Problem] {
        chain.indices.flatMap { depth in
            let name = rejectedName(depth).flatMap { new in
                problems.contains { $0.code == new.code && $0.depth == depth } ? nil : new
            }
            return [
                invalidExtension(depth, problems), weakExponent(depth), unknownQualifier(depth),
                malformedName(depth), name,
            ].compactMap(\.self)
        }
    }

    private func problem(_ code: CInt, _ reason: String, _ depth: Int) -> Verification.Problem {
        Verification.Problem(code: Int(code), reason: reason, depth: depth, subject: chain[depth].subject)
    }

    private static let invalidExtension =
        "an extension is malformed, or is present more than once (RFC 5280, 4.2)"

    /// The problem of an extension that OpenSSL considers invalid. OpenSSL rejects every such certificate when it
    /// selects issuers, but the issuers are given here (`VerifierObserver`), so it rejects only those of authorities.
    /// OpenSSL does not look at all extensions; the others are checked here, except those of the anchor, whose
    /// certificate is trusted as it is.
    private func invalidExtension(
        _ depth: Int, _ problems: [Verification.Problem]
    ) -> Verification.Problem? {
        let isRejected = problems.contains {
            $0.depth == depth && $0.code == Int(X509_V_ERR_INVALID_CA)
        }
        let isInvalid = objects.hasInvalidExtension(chain[depth])
        // OpenSSL rejects an authority with the same error for other reasons.
        guard !(isRejected && isInvalid) else { return nil }
        let isAnchor = depth == chain.count - 1
        guard isInvalid || !isAnchor && objects.hasExtensionViolation(chain[depth]) else { return nil }
        return problem(X509_V_ERR_INVALID_EXTENSION, Self.invalidExtension, depth)
    }

    /// The problem of an RSA exponent that is even or below 65,537, which security level 1 and above reject.
    private func weakExponent(_ depth: Int) -> Verification.Problem? {
        chain[depth].publicKey.exponentWeakness(below: verifier.securityLevel).map { weakness in
            problem(
                depth == 0 ? X509_V_ERR_EE_KEY_TOO_SMALL : X509_V_ERR_CA_KEY_TOO_SMALL, weakness, depth)
        }
    }

    /// The problem of a critical policies extension with a qualifier of an unknown type (RFC 5280 4.2.1.4). The
    /// anchor's policies are not processed.
    private func unknownQualifier(_ depth: Int) -> Verification.Problem? {
        guard depth == 0 || depth < chain.count - 1,
            objects.constraints(of: chain[depth]).hasUnknownCriticalQualifier
        else { return nil }
        return problem(
            X509_V_ERR_INVALID_POLICY_EXTENSION,
            "its policies are critical and have a qualifier of an unknown type (RFC 5280, 4.2.1.4)", depth)
    }

    /// The problem of a malformed host name or address, which cannot be compared with a constraint.
    private func malformedName(_ depth: Int) -> Verification.Problem? {
        guard depth == 0 || !chain[depth].isSelfIssued else { return nil }
        for authority in chain.dropFirst(depth + 1).reversed() {
            guard let name = objects.malformedName(of: chain[depth], under: authority) else { continue }
            return problem(
                X509_V_ERR_UNSUPPORTED_NAME_SYNTAX,
                "\(name) is malformed, and \(authority.subject) constrains names of its type", depth)
        }
        return nil
    }

    /// The problem of an e-mail address or wildcard that a constraint rejects although OpenSSL may accept it.
    private func rejectedName(_ depth: Int) -> Verification.Problem? {
        guard depth == 0 || !chain[depth].isSelfIssued else { return nil }
        for authority in chain.dropFirst(depth + 1).reversed() {
            guard let rejected = objects.rejectedName(of: chain[depth], under: authority) else { continue }
            let problem = problem(CInt(rejected.code), "constraints of this type are not supported", depth)
            return self.problem(
                CInt(rejected.code), words(for: [rejected.name], problem, under: authority), depth)
        }
        return nil
    }
}
