/// The reason for a revocation (RFC 5280, section 5.3.1). The names are those of the standard.
///
/// There is no case for `removeFromCRL`, which occurs only on delta lists. This package creates no delta lists.
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

    /// The number of the reason on lists and in OCSP responses. Nil for `unspecified`, because RFC 5280 recommends
    /// omitting this reason.
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
