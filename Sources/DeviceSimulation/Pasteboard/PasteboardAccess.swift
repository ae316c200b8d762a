package import Foundation

/// The question to the user whether an app may read an item that another app copied.
package struct PasteboardRequest: Sendable, Hashable {
    /// The bundle identifier of the app that copied the item.
    package let owner: String
    /// The bundle identifier of the app that wants to read the item.
    package let reader: String
    /// The item's change count, which identifies it.
    package let changeCount: Int
}

/// The information about the pasteboard that every app may see without the user's consent.
package struct PasteboardStatus: Sendable, Hashable {
    /// The number of times that the pasteboard was written or cleared.
    package let changeCount: Int
    /// The bundle identifier of the app that copied the item; nil if there is no item.
    package let owner: String?
    /// The time at which the item expires; nil if there is no item.
    package let expires: Date?
    /// Whether the last item was removed because it expired.
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
    /// The number of recorded attempts; older ones are dropped.
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
        /// Another item had replaced the expected one.
        case overwritten
        /// The system does not allow the reader to use the pasteboard.
        case notPermitted
        /// The item was altered, and cannot be decrypted.
        case damaged
    }

    /// The time of the attempt.
    package let date: Date
    /// The bundle identifier of the app that tried to read.
    package let reader: String
    /// The bundle identifier of the item's owner; nil if there was no item.
    package let owner: String?
    /// The change count at the time of the attempt.
    package let changeCount: Int
    /// The outcome of the attempt.
    package let outcome: Outcome
}
