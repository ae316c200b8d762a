package import DeviceSimulation
package import Foundation
internal import KeySharing

/// The JSON document of the consumer's `alias watch`, and a part of `keyshare-device aliases`.
package struct BroadcastsDocument: Codable, Sendable {
    /// A row of the log of broadcasts.
    package struct Broadcast: Codable, Sendable {
        /// The sequence number.
        package let number: Int
        /// The action, as Android names it.
        package let action: String
        /// When it was sent.
        package let time: Date
        /// The only app that receives it; null for all apps.
        @Nullable package var to: String?
        /// The extras, by name.
        package let extras: [String: String]

        /// Creates the row of one broadcast.
        package init(_ entry: Broadcasts.Entry) {
            number = entry.number
            action = entry.action.rawValue
            time = entry.time
            to = entry.to
            extras = entry.extras
        }
    }

    /// The broadcasts, oldest first.
    package let broadcasts: [Broadcast]

    /// Creates a document with one row for each entry, in the given order.
    package init(_ entries: [Broadcasts.Entry]) {
        broadcasts = entries.map(Broadcast.init)
    }
}
