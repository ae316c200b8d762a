/// The destination of new or imported identities.
package enum IdentityPublication: Sendable, Hashable {
    /// Key sharing, which lists and exports the identities.
    case keySharing
    /// Only the persistent token. Its keys can be used, but key sharing never lists the identities.
    case tokenOnly
}
