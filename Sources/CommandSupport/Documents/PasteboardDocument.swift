package import DeviceSimulation
package import Foundation

/// The JSON document of `keyshare-device pasteboard`, which does not hold what is on the pasteboard.
package struct PasteboardDocument: Codable, Sendable {
    /// How often the pasteboard has changed.
    package let changeCount: Int
    /// The bundle identifier of the app that copied the item; nil where there is none.
    package let owner: String?
    /// When the item expires; nil where there is none.
    package let expires: Date?
    /// Whether the last item has expired.
    package let hasExpired: Bool
    /// Who tried to read the pasteboard, and what came of it.
    package let accesses: [PasteboardAccess]

    /// Describes a pasteboard.
    package init(_ status: PasteboardStatus, _ accesses: [PasteboardAccess]) {
        changeCount = status.changeCount
        owner = status.owner
        expires = status.expires
        hasExpired = status.hasExpired
        self.accesses = accesses
    }
}
