internal import Diagnostics
package import KeySharing
package import Foundation

/// The requirements on a certification path, and the verification of one path with OpenSSL.
package struct CertificateVerifier: Sendable {
    /// The key usages that the leaf must include; nil skips the check.
    package var expectedKeyUsage: KeyUsage?
    /// The extended key usages that the leaf must include, dotted; nil skips the check.
    package var expectedExtendedKeyUsage: [String]?
    /// The purpose of the certificate; nil checks only the expected usages. A purpose must also be permitted by the
    /// extended key usages of the authorities on the path.
    package var purpose: CertificatePurpose?
    /// The acceptable policies, dotted; the chain must be valid for at least one of them. Empty means any policy.
    package var acceptedPolicies: [String] = []
    /// Whether the chain must be valid for at least one policy (initial-explicit-policy, RFC 5280 6.1.1). This is
    /// implied if ``acceptedPolicies`` is not empty.
    package var requiresExplicitPolicy = false
    /// Whether policy mappings are ignored (initial-policy-mapping-inhibit).
    package var inhibitsPolicyMapping = false
    /// Whether anyPolicy does not count as a match for other policies (initial-any-policy-inhibit).
    package var inhibitsAnyPolicy = false
    /// The minimum strength of the path's keys and signatures, as OpenSSL's security level 1 to 5; nil skips the check.
    /// Level 2 rejects RSA below 2,048 bits and SHA-1. A revocation list or OCSP response with a weaker signature can
    /// revoke a certificate, but cannot show that it is not revoked.
    package var securityLevel: Int?
    /// Whether certificates must also conform to the details of RFC 5280 (X509_V_FLAG_X509_STRICT).
    package var isStrict = false
    /// Whether a trust anchor that is not self-signed can end a chain.
    package var allowsPartialChain = false
    /// Whether expired certificates are accepted, so that paths that were valid in the past can be checked.
    package var allowsExpired = false

    /// The maximum number of links in a chain, from the leaf to the anchor.
    package static let mostLinks = 32
    /// The maximum number of comparisons of names with the subtrees of name constraints on one path. Long names count
    /// several times.
    package static let mostNameComparisons = 1 << 18

    /// The maximum number of policies, and of policy mappings, in one certificate of a path. The time that OpenSSL needs
    /// grows with the square of the number.
    package static let mostPolicies = 1_024

    /// Creates a verifier that requires only a path to an anchor. Set the other requirements afterwards.
    package init() {}

    /// Whether a chain without a valid policy fails.
    var demandsPolicy: Bool { requiresExplicitPolicy || !acceptedPolicies.isEmpty }

    /// Verifies the first certificate of `path` as of `date`, using only this path. All checks are reported, even if
    /// one of them fails.
    package func verify(
        _ path: CertificatePath, with material: RevocationMaterial, at date: Date,
        using objects: VerificationObjects
    ) -> Verification {
        let leaf = path.leaf
        let date = date.wholeSecond
        let search = RevocationSearch(
            material, path: path.certificates, at: date, securityLevel: securityLevel, objects)
        var run: VerifierRun
        do throws(CertificateError) {
            let anchors = path.isAnchored ? Array(path.certificates.suffix(1)) : []
            let others = path.certificates.dropFirst().dropLast(path.isAnchored ? 1 : 0)
            var input = VerifierRun.Input(
                leaf: leaf, anchors: anchors, untrusted: others + search.otherSigners,
                path: path.certificates, lists: search.lists, requiresLists: !search.lists.isEmpty,
                date: date)
            input.lists = objects.withoutForgeries(input)
            run = try VerifierRun(self, input, objects)
            run.addFindingsAboutListSigners(search)
            run.addRevocations(search)
            run.addUnusableLists(search, objects)
        } catch {
            run = VerifierRun(failure: error)
        }
        defer { objects.trim() }
        return verification(of: leaf, run, material, search, date, objects)
    }

    private func verification(
        of leaf: Certificate, _ run: VerifierRun, _ material: RevocationMaterial,
        _ search: RevocationSearch, _ date: Date, _ objects: VerificationObjects
    ) -> Verification {
        let revocation = RevocationVerdict(
            run, material, search, date, securityLevel: securityLevel, objects)
        return Verification(
            checks: [
                chainCheck(run),
                validityCheck(leaf, run, date),
                keyUsageCheck(leaf),
                extendedKeyUsageCheck(leaf, run),
                policyCheck(run),
                run.check(.nameConstraints, passed: "every name satisfies the name constraints of the chain"),
                revocation.check,
                strengthCheck(run),
            ],
            chain: run.chain, problems: run.problems + revocation.problems, isComplete: run.isComplete,
            links: run.chain.indices.map { depth in
                Verification.Link(
                    policies: run.policies.indices.contains(depth) ? run.policies[depth] : [],
                    revocation: revocation.sources[depth] ?? [])
            },
            acceptedPolicies: run.acceptedPolicies)
    }

    private func chainCheck(_ run: VerifierRun) -> Verification.Check {
        let path = run.chain.map { $0.subject.commonName ?? $0.subject.description }.joined(separator: " ← ")
        let failures = run.problems.filter {
            $0.kind == .chain || ($0.kind == .validity && $0.depth != 0 && !isAllowed($0))
        }
        if run.isRefused { return .init(.chain, .notChecked, "the path was not verified") }
        if failures.isEmpty { return .init(.chain, .passed, path.visible) }
        return .init(.chain, .failed, failures.map(\.description).joined(separator: "; "))
    }

    private func isAllowed(_ problem: Verification.Problem) -> Bool {
        allowsExpired && problem.isExpired
    }

    private func validityCheck(
        _ leaf: Certificate, _ run: VerifierRun, _ date: Date
    ) -> Verification.Check {
        // Such a time has no date to compare with, so the certificate is never valid.
        if let problem = run.problems.first(where: { $0.hasMalformedTime && $0.depth == 0 }) {
            return .init(.validity, .failed, problem.description)
        }
        let span = "\(leaf.notBefore.ISO8601Format()) to \(leaf.notAfter.ISO8601Format())"
        if leaf.isValid(at: date) { return .init(.validity, .passed, span) }
        if allowsExpired, date >= leaf.notBefore {
            return .init(.validity, .passed, "expired, which is allowed: \(span)")
        }
        let verdict =
            date < leaf.notBefore
            ? "not valid before \(leaf.notBefore.ISO8601Format())"
            : "expired on \(leaf.notAfter.ISO8601Format())"
        return .init(.validity, .failed, "\(verdict); checked for \(date.ISO8601Format())")
    }

    private func keyUsageCheck(_ leaf: Certificate) -> Verification.Check {
        // Whatever key usage is expected, only an authority's key may sign certificates (RFC 5280 4.2.1.9). Other keys
        // may sign lists (4.2.1.3).
        if leaf.keyUsage?.contains(.keyCertSign) == true, !leaf.isCertificateAuthority {
            return .init(
                .keyUsage, .failed,
                "the key usage includes keyCertSign, but the certificate is not an authority's")
        }
        // Elliptic-curve keys are used for key agreement; only RSA enciphers keys (RFC 5480 3, RFC 8410 5).
        let isEllipticCurve = leaf.publicKey.type != .rsa
        let alternatives = purpose?.keyUsages(isEllipticCurve: isEllipticCurve)
        guard expectedKeyUsage != nil || alternatives != nil else {
            return .init(.keyUsage, .notChecked, "no key usage is required")
        }
        guard let usage = leaf.keyUsage else {
            // RFC 5280 4.2.1.3: without the extension the key is unrestricted. An unreadable extension is not absent.
            if leaf.defects.contains(where: { $0.contains("key usage extension") }) {
                return .init(.keyUsage, .failed, "the extension cannot be read")
            }
            return .init(.keyUsage, .passed, "the certificate does not restrict the use of its key")
        }
        if let missing = expectedKeyUsage?.subtracting(usage), !missing.isEmpty {
            return .init(.keyUsage, .failed, "lacks " + missing.names.joined(separator: ", "))
        }
        if let alternatives, alternatives.isDisjoint(with: usage) {
            return .init(.keyUsage, .failed, "lacks " + alternatives.names.joined(separator: " or "))
        }
        return .init(.keyUsage, .passed, usage.names.joined(separator: ", "))
    }

    private func extendedKeyUsageCheck(_ leaf: Certificate, _ run: VerifierRun) -> Verification.Check {
        for certificate in [leaf] + run.chain.dropFirst() {
            guard let violation = purposeViolation(of: certificate, leaf: leaf) else { continue }
            return .init(
                .extendedKeyUsage, .failed,
                certificate == leaf ? violation : violation + " (\(certificate.subject))")
        }
        guard expectedExtendedKeyUsage != nil || purpose?.extendedKeyUsages != nil else {
            return .init(.extendedKeyUsage, .notChecked, "no extended key usage is required")
        }
        guard let usages = leaf.extendedKeyUsage else {
            if leaf.defects.contains(where: { $0.contains("extended key usage extension") }) {
                return .init(.extendedKeyUsage, .failed, "the extension cannot be read")
            }
            return .init(.extendedKeyUsage, .passed, "the certificate does not restrict its purposes")
        }
        let missing =
            usages.contains(Self.anyExtendedKeyUsage)
            ? [] : (expectedExtendedKeyUsage ?? []).filter { !usages.contains($0) }
        return missing.isEmpty
            ? .init(.extendedKeyUsage, .passed, Self.names(usages))
            : .init(.extendedKeyUsage, .failed, "lacks " + Self.names(missing))
    }

    /// The anyExtendedKeyUsage of RFC 5280 4.2.1.12.
    static let anyExtendedKeyUsage = "2.5.29.37.0"

    /// Whether the extended key usages and a critical Netscape certificate type of a certificate on the path of `leaf`
    /// allow the purpose; true if the purpose requires none.
    package func allowsPurpose(_ certificate: Certificate, of leaf: Certificate) -> Bool {
        purposeViolation(of: certificate, leaf: leaf) == nil
    }

    /// The reason why a certificate on the path of `leaf` does not allow the purpose; nil if it does.
    private func purposeViolation(of certificate: Certificate, leaf: Certificate) -> String? {
        guard let purpose else { return nil }
        let isLeaf = certificate == leaf
        if let types = purpose.netscapeTypes, let type = certificate.criticalExtension(Self.netscapeType),
            Self.firstOctet(ofBitString: type) & (isLeaf ? types.endEntity : types.authority) == 0
        {
            return "has a critical Netscape certificate type that does not permit the purpose"
        }
        guard let wanted = purpose.extendedKeyUsages else { return nil }
        let lack = "lacks " + Self.names(wanted, separator: " or ")
        guard let usages = certificate.extendedKeyUsage else {
            return isLeaf && purpose.needsExtendedKeyUsage ? lack : nil
        }
        if purpose.acceptsAnyExtendedKeyUsage, usages.contains(Self.anyExtendedKeyUsage) { return nil }
        if Set(usages).isDisjoint(with: wanted) { return lack }
        guard isLeaf, purpose.needsOnlyExtendedKeyUsage,
            usages.count != 1 || certificate.criticalExtension(Self.extendedKeyUsageType) == nil
        else { return nil }
        return "the extension is not critical, or contains other usages than \(Self.names(wanted))"
    }

    private static let extendedKeyUsageType = "2.5.29.37"
    private static let netscapeType = "2.16.840.1.113730.1.1"

    /// The used bits of the first octet in the DER of a BIT STRING; 0 if there are none.
    private static func firstOctet(ofBitString der: [UInt8]) -> UInt8 {
        guard let element = DERElement(der), element.tag == .bitString, let unused = element.octets.first,
            let bits = element.octets.dropFirst().first
        else { return 0 }
        return element.octets.count > 2 ? bits : bits & (0xFF << (unused & 7))
    }

    /// Extended key usages in readable form.
    private static func names(_ usages: [String], separator: String = ", ") -> String {
        usages.map { "\(NamedIdentifier.purpose($0))" }.joined(separator: separator)
    }

    /// Policies in readable form.
    private static func names(policies: [String]) -> String {
        policies.map { "\(NamedIdentifier.policy($0))" }.joined(separator: ", ")
    }

    private func policyCheck(_ run: VerifierRun) -> Verification.Check {
        let failures = run.problems.filter { $0.kind == .policies }
        guard demandsPolicy || !failures.isEmpty else {
            return .init(.policies, .notChecked, "no policy is required")
        }
        let asked =
            acceptedPolicies.isEmpty
            ? Self.names(policies: run.acceptedPolicies) : "one of " + Self.names(policies: acceptedPolicies)
        return run.check(.policies, passed: "valid for " + asked)
    }

    private func strengthCheck(_ run: VerifierRun) -> Verification.Check {
        guard let securityLevel else {
            return .init(.strength, .notChecked, "no security level is required")
        }
        return run.check(
            .strength, passed: "every key and signature of the path reaches security level \(securityLevel)")
    }
}

extension Certificate {
    /// The contents of the first critical extension of a type; nil if there is none. Each call parses the certificate
    /// again.
    fileprivate func criticalExtension(_ oid: String) -> [UInt8]? {
        extensions.first { $0.isCritical && $0.oid == oid }?.value
    }
}

extension Date {
    /// The date without fractions of a second, which certificates and lists cannot contain.
    package var wholeSecond: Date { Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down)) }
}

/// The result of a verification: every check with its outcome, and the chain.
package struct Verification: Sendable, Hashable {
    /// The kinds of check.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Signatures, issuers, CA rights and validity up to a trust anchor.
        case chain
        /// The leaf's validity period.
        case validity
        /// The leaf's key usage.
        case keyUsage
        /// The leaf's extended key usage.
        case extendedKeyUsage
        /// Certificate policies along the chain.
        case policies
        /// Name constraints of the chain's authorities.
        case nameConstraints
        /// Revocation lists and OCSP responses.
        case revocation
        /// The strength of keys and signatures.
        case strength
    }

    /// The outcome of a check.
    package enum Outcome: String, Sendable, Hashable {
        case passed, failed, notChecked
        /// The available information is not sufficient to decide, so the certificate is not valid.
        case unsettled
    }

    /// The result of one check.
    package struct Check: Sendable, Hashable {
        /// The kind of check.
        package let kind: Kind
        /// Whether the check passed, failed, could not be decided, or was not performed.
        package let outcome: Outcome
        /// The reason, as text for users.
        package let explanation: String

        init(_ kind: Kind, _ outcome: Outcome, _ explanation: String) {
            self.kind = kind
            self.outcome = outcome
            self.explanation = explanation
        }
    }

    /// The findings about one certificate of the chain.
    package struct Link: Sendable, Hashable {
        /// The valid policies at this certificate, after mapping, dotted.
        package let policies: [String]
        /// The lists and responses that show the revocation status; empty if none does.
        package let revocation: [RevocationSource]
    }

    /// An error of OpenSSL's verifier, or a revocation in an OCSP response in the same form.
    package struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// OpenSSL's error number (`X509_V_ERR_…`).
        package let code: Int
        /// OpenSSL's description of the error.
        package let reason: String
        /// The depth of the affected certificate in the chain: 0 is the leaf.
        package let depth: Int
        /// The subject of the affected certificate; nil if the error concerns no single certificate.
        package let subject: DistinguishedName?

        /// The description, then the certificate.
        package var description: String {
            reason + (subject.map { " (\($0))" } ?? "")
        }
    }

    /// All checks, one of each kind, in the order of ``Kind``.
    package let checks: [Check]
    /// The chain, leaf first; incomplete if no anchor was reached.
    package let chain: [Certificate]
    /// Every error of OpenSSL's verifier, in the order of discovery, followed by revocations in OCSP responses.
    package let problems: [Problem]
    /// Whether the chain reached a trust anchor.
    package let isComplete: Bool
    /// The findings about each certificate of the chain, leaf first.
    package let links: [Link]
    /// The required policies for which the chain is valid, dotted; anyPolicy if it is valid for all.
    package let acceptedPolicies: [String]

    /// Whether no check failed or was left unsettled.
    package var isValid: Bool {
        !checks.contains { $0.outcome == .failed || $0.outcome == .unsettled }
    }

    /// The result of the check of this kind; `notChecked` if it was not performed.
    package func check(_ kind: Kind) -> Check {
        checks.first { $0.kind == kind } ?? Check(kind, .notChecked, "not a check of this verification")
    }
}
