package import Foundation
package import KeySharing
package import PrivateFiles
internal import SimulatedKeychain

/// The broadcasts of a simulated Android device about aliases and keys.
///
/// Android starts the receivers in an app's manifest for a broadcast. Here an app reads the log of the most recent
/// broadcasts, so that it misses none while it is not running. A notification wakes the apps that wait.
package struct Broadcasts: Sendable {
    /// A broadcast in the log.
    package struct Entry: Sendable, Hashable, Codable {
        /// The sequence number. The first broadcast of a device has the number 1.
        package let number: Int
        /// The action (docs/rules.md R9.13).
        package let action: AliasBroadcast
        /// When it was sent.
        package let time: Date
        /// The only app that receives it; nil for all apps.
        package let to: String?
        /// The extras, by name.
        package let extras: [String: String]
    }

    private struct Log: Codable {
        var last = 0
        var entries: [Entry] = []
    }

    /// The number of broadcasts that the log keeps.
    package static let kept = 64
    /// The extra with the alias in `keyAccessChanged` (`KeyChain.EXTRA_KEY_ALIAS`).
    package static let aliasExtra = "android.security.extra.KEY_ALIAS"
    /// The extra with `true` or `false` in `keyAccessChanged` (`KeyChain.EXTRA_KEY_ACCESSIBLE`).
    package static let accessibleExtra = "android.security.extra.KEY_ACCESSIBLE"
    private static let fileLimit = 1 << 20

    private let device: Device
    private let log: LockedDocument<Log>

    /// Opens the broadcasts of a device.
    ///
    /// - Throws: `FileError` if the folder of the log cannot be created.
    package init(_ device: Device) throws(FileError) {
        self.device = device
        log = LockedDocument(
            path: try device.androidFolder() + "/broadcasts", limit: Self.fileLimit, initial: Log())
    }

    /// Appends a broadcast to the log, and wakes the apps that wait for one.
    ///
    /// - Throws: `FileError` if the log cannot be written.
    @discardableResult
    package func send(
        _ action: AliasBroadcast, to app: String? = nil, extras: [String: String] = [:], at time: Date
    ) throws(FileError) -> Entry {
        let entry = try log.change { (log: inout Log) throws(FileError) in
            log.last &+= 1
            let entry = Entry(number: log.last, action: action, time: time, to: app, extras: extras)
            log.entries = log.entries.suffix(Self.kept - 1) + [entry]
            return entry
        }
        // The broadcast is in the log. If the notification is lost, an app finds it at the next one.
        try? Notifications(device: device).post(.aliasBroadcast)
        return entry
    }

    /// Returns the broadcasts with greater numbers than `number`, as far as the log keeps them, oldest first.
    ///
    /// - Throws: `FileError` if the log cannot be read.
    package func entries(after number: Int = 0) throws(FileError) -> [Entry] {
        try log.read().entries.filter { $0.number > number }
    }

    /// The number of the last broadcast; 0 if there was none.
    ///
    /// - Throws: `FileError` if the log cannot be read.
    package func last() throws(FileError) -> Int { try log.read().last }
}
