/// The destination of new or imported identities.
package enum IdentityPublication: Sendable, Hashable {
    /// Key sharing, which lists and exports them.
    case keySharing
    /// Only the persistent token. The keys can be used, and key sharing never lists them.
    case tokenOnly
}
