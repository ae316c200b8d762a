/// The decision whether an identity belongs to a selection, and why.
///
/// Listing, lookup, export and explanation all use ``SortedIdentities/memberRanges(_:)``, either directly or through
/// ``SortedIdentities/decide(_:)`` (docs/rules.md R3.21).
///
/// ```swift
/// let decisions = SortedIdentities(identities, under: .keySharing2025)
///     .decide(IdentitySelector.signature.selection(under: .keySharing2025))
/// let older = decisions.filter { $0.outcome != .member && $0.outcome != .typeNotSelected }
/// ```
public struct Membership: Sendable, Hashable {
    /// The possible outcomes of the decision.
    public enum Outcome: Sendable, Hashable {
        /// The identity belongs to the selection.
        case member
        /// The type of the identity is not selected.
        case typeNotSelected
        /// Only the most recent identity of the type is selected, and the identity with the label `newest` is more
        /// recent.
        case olderGeneration(newest: String)
    }

    /// The identity that the decision is about.
    public let identity: IdentitySummary
    /// Whether the identity belongs to the selection, and if not, why.
    public let outcome: Outcome
}
