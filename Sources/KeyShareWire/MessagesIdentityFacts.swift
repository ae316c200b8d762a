package import KeySharing
/// A stretch of the provider's identities, and where the next one starts: what explains a listing, and no keys.
package struct IdentityFactsPage: Sendable, Hashable {
    package var facts: [IdentitySummary]
    /// Asks for the following page; nil at the end.
    package var nextCursor: String?

    package init(facts: [IdentitySummary], nextCursor: String?) {
        self.facts = facts
        self.nextCursor = nextCursor
    }
}
