internal import Foundation
package import OpenSSL

/// What came of looking for a valid path for one certificate.
package struct PathValidation: Sendable {
    /// One certificate of the path, with what it adds.
    package struct Link: Sendable {
        /// What the certificate is on the path.
        package enum Role: String, Sendable {
            case leaf, authority, anchor
        }

        /// The certificate.
        package let certificate: Certificate
        /// What the certificate is on the path.
        package let role: Role
        /// The policies that hold there, after mapping, dotted; empty where none does or none was computed.
        package let policies: [String]
        /// What the certificate asks of those below.
        package let constraints: AuthorityConstraints
        /// What told whether the certificate is revoked; empty where nothing did.
        package let revocation: [RevocationSource]
        /// What is wrong with the certificate on this path.
        package let problems: [Verification.Problem]
    }

    /// One path that was offered to validation.
    package struct Attempt: Sendable {
        /// The certificates, leaf first.
        package let certificates: [Certificate]
        /// Whether the last certificate is an anchor.
        package let isAnchored: Bool
        /// The checks that did not pass, with the reasons; empty where the path is valid.
        package let failures: [Verification.Check]
    }

    /// Why the search ended.
    package enum End: Sendable, Hashable {
        /// A valid path was found.
        case found
        /// Every path was tried.
        case exhausted
        /// The certificate has a fault that no path takes away, so that the others were not tried.
        case leafFault
        /// So many paths were tried; there may be others.
        case candidateLimit(Int)
        /// So many seconds had passed; there may be other paths.
        case timeLimit(seconds: Double)
        /// So many partial paths were looked at; there may be others.
        case stepLimit(Int)
    }

    /// The checks on the valid path, or on the one that came nearest.
    package let verification: Verification
    /// The path of ``verification``, leaf first.
    package let path: [Link]
    /// The paths that were tried, in order.
    package let attempts: [Attempt]
    /// The place of ``path`` among ``attempts``.
    package let chosen: Int
    /// Why the search ended.
    package let end: End

    /// Whether there is a valid path.
    package var isValid: Bool { verification.isValid }
}

/// How far the search for a path goes.
package struct PathLimits: Sendable, Hashable {
    /// The most paths that are validated.
    package var candidates = 200
    /// The longest time; the path in hand is finished.
    package var time: Duration = .seconds(2)
    /// The most certificates of one path.
    package var links = CertificateVerifier.mostLinks
    /// The most partial paths that are looked at.
    package var steps = 50_000
    /// The most paths that are validated though a fault is known beforehand, to tell the faults.
    package var faultyCandidates = 16
    /// The most octets of revocation lists that one path may need; decoded they take some ten times the memory.
    package var listOctets = 16 << 20
    /// The most revocation lists that one path may need.
    package var lists = 256

    /// The usual limits.
    package init() {}
}
