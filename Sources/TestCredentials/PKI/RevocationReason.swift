/// Why a certificate was revoked (RFC 5280, section 5.3.1), under the names that the standard gives the reasons.
///
/// The reason `removeFromCRL` is left out: it stands on delta lists only, which nobody here makes.
package enum RevocationReason: String, Sendable, CaseIterable, Codable {
    case unspecified
    case keyCompromise
    case cACompromise
    case affiliationChanged
    case superseded
    case cessationOfOperation
    case certificateHold
    case privilegeWithdrawn
    case aACompromise

    /// The number of the reason on lists and in OCSP responses; nil for `unspecified`, which RFC 5280 asks to leave out.
    package var number: Int? {
        switch self {
        case .unspecified: nil
        case .keyCompromise: 1
        case .cACompromise: 2
        case .affiliationChanged: 3
        case .superseded: 4
        case .cessationOfOperation: 5
        case .certificateHold: 6
        case .privilegeWithdrawn: 9
        case .aACompromise: 10
        }
    }
}
