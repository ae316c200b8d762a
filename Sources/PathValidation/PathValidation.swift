internal import Foundation
package import OpenSSL

/// The result of the search for a valid path for one certificate.
package struct PathValidation: Sendable {
    /// One certificate of the path, with its effect on validation.
    package struct Link: Sendable {
        /// The roles of certificates on a path.
        package enum Role: String, Sendable {
            case leaf, authority, anchor
        }

        /// The certificate.
        package let certificate: Certificate
        /// The role of the certificate on the path.
        package let role: Role
        /// The policies that are valid at this certificate, after mapping, as dotted identifiers. Empty if no policy
        /// is valid or none was computed.
        package let policies: [String]
        /// The constraints that the certificate imposes on the certificates below it.
        package let constraints: AuthorityConstraints
        /// The lists and responses that determine the certificate's revocation status; empty if none does.
        package let revocation: [RevocationSource]
        /// The problems of the certificate on this path.
        package let problems: [Verification.Problem]
    }

    /// One path that was validated.
    package struct Attempt: Sendable {
        /// The certificates, leaf first.
        package let certificates: [Certificate]
        /// Whether the last certificate is an anchor.
        package let isAnchored: Bool
        /// The checks that did not pass, with the reasons; empty if the path is valid.
        package let failures: [Verification.Check]
        /// The errors, each with the depth of its certificate.
        package let problems: [Verification.Problem]
    }

    /// The reasons why a search ends.
    package enum End: Sendable, Hashable {
        /// A valid path was found.
        case found
        /// Every path was tried.
        case exhausted
        /// The leaf itself has a fault, which every path would have, so other paths were not tried.
        case leafFault
        /// The maximum number of paths was tried; other paths may exist.
        case candidateLimit(Int)
        /// The time limit, in seconds, was reached; other paths may exist.
        case timeLimit(seconds: Double)
        /// The maximum number of partial paths was examined; other paths may exist.
        case stepLimit(Int)
    }

    /// The checks of the valid path. If no path is valid, the checks of the path that is nearest to being valid.
    package let verification: Verification
    /// The path of ``verification``, leaf first.
    package let path: [Link]
    /// The paths that were tried, in order.
    package let attempts: [Attempt]
    /// The index of ``path`` in ``attempts``.
    package let chosen: Int
    /// The reason why the search ended.
    package let end: End

    /// Whether there is a valid path.
    package var isValid: Bool { verification.isValid }

    /// Whether a limit ended the search, so that other paths may exist.
    package var isIncomplete: Bool {
        switch end {
        case .found, .exhausted, .leafFault: false
        case .candidateLimit, .timeLimit, .stepLimit: true
        }
    }

    /// The check of revocation on the first path with a revoked certificate, apart from paths with a wrong signature; nil
    /// if there is none. ``verification`` can be that of another path, whose revocation status is not known.
    package var revokedAttempt: Verification.Check? {
        let revoked = attempts.first { attempt in
            attempt.isAnchored && attempt.problems.contains(where: \.isRevoked)
                && !attempt.failures.contains { $0.kind == .chain }
        }
        return revoked?.failures.first { $0.kind == .revocation }
    }
}

/// The limits of the search for a path.
package struct PathLimits: Sendable, Hashable {
    /// The maximum number of paths that are validated.
    package var candidates = 200
    /// The maximum time of the search. A validation that has begun is completed.
    package var time: Duration = .seconds(2)
    /// The maximum time of all searches for one message or one run. For a message, no search is begun after that.
    package var totalTime: Duration = .seconds(6)
    /// The time that each identity adds to the ``totalTime`` of a run. Most searches take a few milliseconds.
    package var identityTime: Duration = .milliseconds(10)
    /// The maximum number of certificates on a path.
    package var links = CertificateVerifier.mostLinks
    /// The maximum number of partial paths that are examined.
    package var steps = 50_000
    /// The maximum number of paths with known faults that are validated in order to report the faults.
    package var faultyCandidates = 16
    /// The maximum total size, in bytes, of the revocation lists for one path. Decoded lists need about twelve times the
    /// memory. Above this limit, no list is used, because an omitted list might revoke a certificate.
    package var listOctets = 32 << 20
    /// The maximum number of revocation lists for one path.
    package var lists = 256

    /// Creates the default limits.
    package init() {}
}
