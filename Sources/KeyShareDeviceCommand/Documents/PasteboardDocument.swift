package import DeviceSimulation
package import Foundation

/// The JSON document of `keyshare-device pasteboard`. It does not contain the pasteboard's item.
package struct PasteboardDocument: Codable, Sendable {
    /// The number of changes of the pasteboard.
    package let changeCount: Int
    /// The bundle identifier of the app that copied the item; nil if there is no item.
    package let owner: String?
    /// The expiry time of the item; nil if there is no item.
    package let expires: Date?
    /// Whether the last item has expired.
    package let hasExpired: Bool
    /// The attempts to read the pasteboard, with their outcomes.
    package let accesses: [PasteboardAccess]

    /// Creates the document from the state of the pasteboard and the attempts to read it, without the item's content.
    package init(_ status: PasteboardStatus, _ accesses: [PasteboardAccess]) {
        changeCount = status.changeCount
        owner = status.owner
        expires = status.expires
        hasExpired = status.hasExpired
        self.accesses = accesses
    }
}
