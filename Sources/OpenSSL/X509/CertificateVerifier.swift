package import KeySharing
internal import Diagnostics
internal import COpenSSL
package import Foundation

/// What a certificate is verified against, and the verifying itself, through OpenSSL's verifier.
package struct CertificateVerifier: Sendable {
    /// The certificates trust starts from.
    package var trustAnchors: [Certificate]
    /// Certificates a chain may be built from; their order does not matter and they are not trusted.
    package var intermediates: [Certificate] = []
    /// Revocation lists; with none, revocation is not checked.
    package var revocationLists: [CertificateRevocationList] = []
    /// What the leaf must be usable for, all of it; nil leaves key usage unchecked.
    package var expectedKeyUsage: KeyUsage?
    /// What the leaf must be usable for, all of it, dotted; nil leaves extended key usage unchecked.
    package var expectedExtendedKeyUsage: [String]?
    /// Policies of which the chain must be valid for at least one, dotted; none leaves policies unchecked.
    package var acceptedPolicies: [String] = []
    /// The least strength of keys and signatures, as OpenSSL's security levels 1 to 5 (2 refuses RSA below
    /// 2,048 bits and SHA-1); nil leaves it unchecked.
    package var securityLevel: Int?
    /// Whether certificates must keep to RFC 5280 in the details too (X509_V_FLAG_X509_STRICT).
    package var isStrict = false
    /// Whether a trust anchor that is not self-signed ends a chain.
    package var allowsPartialChain = false

    /// A verifier that trusts `trustAnchors`; the rest is set afterwards.
    package init(trustAnchors: [Certificate]) {
        self.trustAnchors = trustAnchors
    }

    /// Checks `leaf` as of `date` and reports every check, whatever the others say.
    package func verify(_ leaf: Certificate, at date: Date) -> Verification {
        let run: VerifierRun
        do throws(CertificateError) {
            run = try VerifierRun(self, leaf, date)
        } catch {
            run = VerifierRun(failure: error)
        }
        return Verification(
            checks: [
                chainCheck(run),
                validityCheck(leaf, date),
                keyUsageCheck(leaf),
                extendedKeyUsageCheck(leaf),
                policyCheck(run),
                run.check(.nameConstraints, passed: "every name is within the constraints of the chain"),
                revocationCheck(run),
                strengthCheck(run),
            ],
            chain: run.chain, problems: run.problems)
    }

    private func chainCheck(_ run: VerifierRun) -> Verification.Check {
        let path = run.chain.map { $0.subject.commonName ?? $0.subject.description }.joined(separator: " ← ")
        let failures = run.problems.filter { $0.kind == .chain || ($0.kind == .validity && $0.depth != 0) }
        if failures.isEmpty { return .init(.chain, .passed, path.visible) }
        return .init(.chain, .failed, failures.map(\.description).joined(separator: "; "))
    }

    private func validityCheck(_ leaf: Certificate, _ date: Date) -> Verification.Check {
        let span = "\(leaf.notBefore.ISO8601Format()) to \(leaf.notAfter.ISO8601Format())"
        if leaf.isValid(at: date) { return .init(.validity, .passed, span) }
        let verdict = date < leaf.notBefore ? "not yet valid" : "expired"
        return .init(.validity, .failed, "\(verdict) at \(date.ISO8601Format()): \(span)")
    }

    private func keyUsageCheck(_ leaf: Certificate) -> Verification.Check {
        // Whatever is expected: only an authority's key may sign certificates (RFC 5280 4.2.1.9). Lists may be
        // signed by a key that is no authority's (4.2.1.3).
        if leaf.keyUsage?.contains(.keyCertSign) == true, !leaf.isCertificateAuthority {
            return .init(.keyUsage, .failed, "keyCertSign is an authority's, which the certificate is not")
        }
        guard let expectedKeyUsage else { return .init(.keyUsage, .notChecked, "nothing is expected") }
        guard let usage = leaf.keyUsage else {
            // RFC 5280 4.2.1.3: without the extension the key is not restricted. An unreadable one is not absent.
            if leaf.defects.contains(where: { $0.contains("key usage extension") }) {
                return .init(.keyUsage, .failed, "the extension cannot be read")
            }
            return .init(.keyUsage, .passed, "the certificate does not restrict its key")
        }
        let missing = expectedKeyUsage.subtracting(usage)
        return missing.isEmpty
            ? .init(.keyUsage, .passed, usage.names.joined(separator: ", "))
            : .init(.keyUsage, .failed, "lacks " + missing.names.joined(separator: ", "))
    }

    private func extendedKeyUsageCheck(_ leaf: Certificate) -> Verification.Check {
        guard let expectedExtendedKeyUsage else {
            return .init(.extendedKeyUsage, .notChecked, "nothing is expected")
        }
        guard let usages = leaf.extendedKeyUsage else {
            if leaf.defects.contains(where: { $0.contains("extended key usage extension") }) {
                return .init(.extendedKeyUsage, .failed, "the extension cannot be read")
            }
            return .init(.extendedKeyUsage, .passed, "the certificate does not restrict its purposes")
        }
        // anyExtendedKeyUsage, RFC 5280 4.2.1.12.
        let missing =
            usages.contains("2.5.29.37.0") ? [] : expectedExtendedKeyUsage.filter { !usages.contains($0) }
        return missing.isEmpty
            ? .init(.extendedKeyUsage, .passed, usages.joined(separator: ", "))
            : .init(.extendedKeyUsage, .failed, "lacks " + missing.joined(separator: ", "))
    }

    private func policyCheck(_ run: VerifierRun) -> Verification.Check {
        guard !acceptedPolicies.isEmpty else {
            return .init(.policies, .notChecked, "no policy is asked for")
        }
        return run.check(
            .policies, passed: "valid for one of " + acceptedPolicies.joined(separator: ", "))
    }

    private func revocationCheck(_ run: VerifierRun) -> Verification.Check {
        guard !revocationLists.isEmpty else {
            return .init(.revocation, .notChecked, "no revocation list is given")
        }
        let (missing, failures) = run.problems.filter { $0.kind == .revocation }.partitioned {
            $0.code == Int(X509_V_ERR_UNABLE_TO_GET_CRL)
        }
        guard failures.isEmpty else {
            return .init(.revocation, .failed, failures.map(\.description).joined(separator: "; "))
        }
        let uncovered = missing.map(\.description).joined(separator: "; ")
        if missing.contains(where: { $0.depth == 0 }) || !run.isComplete {
            let reason = missing.isEmpty ? "the chain is incomplete" : uncovered
            return .init(.revocation, .notChecked, reason)
        }
        return .init(
            .revocation, .passed,
            missing.isEmpty
                ? "no certificate of the chain is revoked" : "the certificate is not revoked; " + uncovered)
    }

    private func strengthCheck(_ run: VerifierRun) -> Verification.Check {
        guard let securityLevel else {
            return .init(.strength, .notChecked, "no security level is asked for")
        }
        return run.check(.strength, passed: "every key and signature reaches security level \(securityLevel)")
    }
}

/// What a verification found: every check with its outcome, and the chain.
package struct Verification: Sendable, Hashable {
    /// What is checked.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Signatures, issuers, CA rights and validity up to a trust anchor.
        case chain
        /// The leaf's own validity.
        case validity
        /// The leaf's key usage.
        case keyUsage
        /// The leaf's extended key usage.
        case extendedKeyUsage
        /// Certificate policies along the chain.
        case policies
        /// Name constraints of the chain's authorities.
        case nameConstraints
        /// Revocation lists.
        case revocation
        /// The strength of keys and signatures.
        case strength
    }

    /// How a check ended.
    package enum Outcome: String, Sendable, Hashable {
        case passed, failed, notChecked
    }

    /// One check.
    package struct Check: Sendable, Hashable {
        /// What was checked.
        package let kind: Kind
        /// How it ended.
        package let outcome: Outcome
        /// Why, for a person.
        package let explanation: String

        init(_ kind: Kind, _ outcome: Outcome, _ explanation: String) {
            self.kind = kind
            self.outcome = outcome
            self.explanation = explanation
        }
    }

    /// One error of OpenSSL's verifier.
    package struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// OpenSSL's number for it (`X509_V_ERR_…`).
        package let code: Int
        /// OpenSSL's words for it.
        package let reason: String
        /// Which certificate of the chain it is about: 0 is the leaf.
        package let depth: Int
        /// The subject of that certificate; nil where the problem is about none.
        package let subject: DistinguishedName?

        /// The words, then the certificate.
        package var description: String {
            reason + (subject.map { " (\($0))" } ?? "")
        }
    }

    /// Every check, one of each kind, in the order of ``Kind``.
    package let checks: [Check]
    /// The chain that was built, leaf first; as far as it could be built.
    package let chain: [Certificate]
    /// Every error of OpenSSL's verifier, in the order found.
    package let problems: [Problem]

    /// Whether no check failed.
    package var isValid: Bool { !checks.contains { $0.outcome == .failed } }

    /// The check of one kind.
    package func check(_ kind: Kind) -> Check {
        checks.first { $0.kind == kind } ?? Check(kind, .notChecked, "not a check of this verification")
    }
}

extension Array {
    fileprivate func partitioned(_ isFirst: (Element) -> Bool) -> ([Element], [Element]) {
        (filter(isFirst), filter { !isFirst($0) })
    }
}
