package import Foundation

/// The question to the user, whether one app may read what another copied.
package struct PasteboardRequest: Sendable, Hashable {
    /// The bundle identifier of the app that put the item there.
    package let owner: String
    /// The bundle identifier of the app that wants to read the item.
    package let reader: String
    /// The item's change count, which identifies it.
    package let changeCount: Int
}

/// The facts about the pasteboard that every app may see without the user's consent.
package struct PasteboardStatus: Sendable, Hashable {
    /// The number of times that the pasteboard was written or cleared.
    package let changeCount: Int
    /// The bundle identifier of the app that put the item there; nil when there is no item.
    package let owner: String?
    /// The time at which the item expires; nil when there is no item.
    package let expires: Date?
    /// Whether the last item is gone because it expired.
    package let hasExpired: Bool

    /// Whether there is no item.
    package var isEmpty: Bool { owner == nil }

    init(_ state: PasteboardState) {
        changeCount = state.changeCount
        switch state.content {
        case .item(let item): (owner, expires, hasExpired) = (item.owner, item.expires, false)
        case .expired: (owner, expires, hasExpired) = (nil, nil, true)
        case .nothing: (owner, expires, hasExpired) = (nil, nil, false)
        }
    }
}

/// The record of one attempt to read the pasteboard.
package struct PasteboardAccess: Sendable, Hashable, Codable {
    /// The number of attempts that are kept; older ones are dropped.
    package static let kept = 1_000

    /// The outcomes of an attempt.
    package enum Outcome: String, Sendable, Hashable, Codable, CaseIterable {
        /// The item was read.
        case allowed
        /// The user refused, or could not be asked.
        case denied
        /// There was no item.
        case empty
        /// The item had expired.
        case expired
        /// Another item had taken the place of the one that was meant.
        case overwritten
        /// The system keeps the reader from the pasteboard.
        case notPermitted
        /// The item was altered, and does not open.
        case damaged
    }

    /// The time of the attempt.
    package let date: Date
    /// The bundle identifier of the app that tried to read.
    package let reader: String
    /// The bundle identifier of the item's owner; nil when there was no item.
    package let owner: String?
    /// The change count at the time of the attempt.
    package let changeCount: Int
    /// The outcome of the attempt.
    package let outcome: Outcome
}
