package import DeviceSimulation
internal import SecretMemory
package import Foundation
internal import OpenSSL

/// Through the pasteboard, announced by opening a URL of the receiver's scheme.
///
/// The URL says which item of the pasteboard is meant and nothing that is secret, because whoever claims the
/// same scheme may get it. Reading takes the user's consent, and whoever gets that reads it.
package struct PasteboardChannel: SharingChannel {
    /// What the channel is called.
    package let name = "url-pasteboard"
    private let ends: ChannelEndpoints

    /// The channel between `ends`.
    package init(_ ends: ChannelEndpoints) {
        self.ends = ends
    }

    /// Copies the credential, for a minute at most, and opens the URL.
    package func send(_ credential: Credential, now: Date) throws(SharingChannelError) {
        try SharingChannelError.wrapping {
            let lifetime = min(credential.expires.timeIntervalSince(now), Pasteboard.standardLifetime)
            guard lifetime > 0 else { throw SharingChannelError(.expired, "the credential's time is over") }
            let count = try Pasteboard(device: ends.device).write(
                credential.encoded, owner: ends.sender, now: now, lifetime: lifetime)
            let url = "\(ends.receiver.bundleIdentifier)://credential?item=\(count)"
            try ends.device.open(SecretBytes(utf8: url), in: ends.receiver)
        }
        ends.announce()
    }

    /// Reads the item that the URL names; an app that no URL was opened for reads whatever there is.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) throws(SharingChannelError) -> Credential? {
        try SharingChannelError.wrapping {
            let url = try ends.device.openedURL(by: app)?.text
            let item = url.flatMap { $0.split(separator: "=").last.flatMap { Int($0) } }
            let found = try Pasteboard(device: ends.device).read(by: app, now: now, expecting: item) {
                try consent(.paste($0))
            }
            return try found.map { try Credential($0, at: now) }
        }
    }

    /// Clears the pasteboard, and forgets the URL.
    package func remove() throws(SharingChannelError) {
        try SharingChannelError.wrapping {
            try Pasteboard(device: ends.device).clear()
            try ends.device.forgetOpenedURL(of: ends.receiver)
        }
    }
}
