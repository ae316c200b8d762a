/// The destination of new or imported identities.
package enum IdentityPublication: Sendable, Hashable {
    /// Published by key sharing, which lists and exports the identities.
    case keySharing
    /// Published only as persistent tokens. Programs can use the keys, but key sharing never lists the identities.
    case tokenOnly
}
