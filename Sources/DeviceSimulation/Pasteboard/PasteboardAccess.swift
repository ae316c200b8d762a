package import Foundation

/// What the user is asked: whether one app may read what another copied.
package struct PasteboardRequest: Sendable, Hashable {
    /// The bundle identifier of who put the item there.
    package let owner: String
    /// The bundle identifier of who wants to read it.
    package let reader: String
    /// Which item it is.
    package let changeCount: Int
}

/// What anybody may know about the pasteboard without the user's consent.
package struct PasteboardStatus: Sendable, Hashable {
    /// How often the pasteboard was written or cleared.
    package let changeCount: Int
    /// The bundle identifier of who put the item there; nil when there is none.
    package let owner: String?
    /// When the item goes; nil when there is none.
    package let expires: Date?
    /// Whether the last item is gone because its time was over.
    package let hasExpired: Bool

    /// Whether there is an item.
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

/// One attempt to read the pasteboard, and what came of it.
package struct PasteboardAccess: Sendable, Hashable, Codable {
    /// How many attempts are remembered; the oldest are forgotten first.
    package static let kept = 1_000

    /// What came of an attempt.
    package enum Outcome: String, Sendable, Hashable, Codable, CaseIterable {
        /// The item was read.
        case allowed
        /// The user refused, or could not be asked.
        case denied
        /// There was nothing.
        case empty
        /// The item's time was over.
        case expired
        /// There was another item than the one that was meant.
        case overwritten
        /// The system keeps the reader from the pasteboard.
        case notPermitted
        /// The item was altered, and does not open.
        case damaged
    }

    /// When it was.
    package let date: Date
    /// The bundle identifier of who tried to read.
    package let reader: String
    /// The bundle identifier of whose item was there, where there was one.
    package let owner: String?
    /// Which item was there.
    package let changeCount: Int
    /// What came of it.
    package let outcome: Outcome
}
