/// Whether an identity belongs to a selection, and why: the one decision behind every list, look-up, export
/// and explanation.
public struct Membership: Sendable, Hashable {
    /// What was decided.
    public enum Outcome: Sendable, Hashable {
        case member
        /// Its type is not among the wanted ones.
        case typeNotSelected
        /// Only the most recent of its type is wanted, and `newest` is more recent.
        case olderGeneration(newest: String)
    }

    public let identity: IdentitySummary
    public let outcome: Outcome
}
