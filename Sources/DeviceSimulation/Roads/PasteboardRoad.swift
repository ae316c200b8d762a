package import Foundation
private import Glibc

/// Through the pasteboard, announced by opening a URL of the receiver's scheme.
///
/// The URL says which item of the pasteboard is meant and nothing that is secret, because whoever claims the
/// same scheme may get it. Reading takes the user's consent, and whoever gets that reads it.
package struct PasteboardRoad: Road {
    /// What the road is called.
    package let name = "url-pasteboard"
    private let ends: RoadEnds

    /// The road between `ends`.
    package init(_ ends: RoadEnds) {
        self.ends = ends
    }

    /// Copies the credential, for a minute at most, and opens the URL.
    package func send(_ credential: Credential, now: Date) throws(RoadError) {
        try RoadError.wrapping {
            let lifetime = min(credential.expires.timeIntervalSince(now), Pasteboard.standardLifetime)
            guard lifetime > 0 else { throw RoadError(.expired, "the credential's time is over") }
            let count = try Pasteboard(device: ends.device).write(
                credential.encoded, owner: ends.sender, now: now, lifetime: lifetime)
            let url = "\(ends.receiver.bundleIdentifier)://credential?item=\(count)"
            try AtomicFile.write(Array(url.utf8), to: try openedURLPath(ends.receiver))
        }
    }

    /// Reads the item that the URL names; an app that no URL was opened for reads whatever there is.
    package func receive(
        by app: App, now: Date, consent: (PasteboardRequest) throws -> Bool
    ) throws(RoadError) -> Credential? {
        try RoadError.wrapping {
            let url = try PrivateFile.open(try openedURLPath(app))?.read(atMost: 1_024)
            let item = url.flatMap { bytes in
                String(decoding: bytes, as: UTF8.self).split(separator: "=").last.flatMap { Int($0) }
            }
            let found = try Pasteboard(device: ends.device).read(
                by: app, now: now, expecting: item, consent: consent)
            return try found.map { try Credential($0, at: now) }
        }
    }

    /// Clears the pasteboard, and forgets the URL.
    package func remove() throws(RoadError) {
        try RoadError.wrapping {
            try Pasteboard(device: ends.device).clear()
            let path = try openedURLPath(ends.receiver)
            guard unsafe unlink(path) == 0 || errno == ENOENT else {
                throw DeviceError.inputOutput("cannot remove", path, errno: errno)
            }
        }
    }

    private func openedURLPath(_ app: App) throws(DeviceError) -> String {
        try ends.device.container(of: app) + "/opened-url"
    }
}
