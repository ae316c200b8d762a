internal import DeviceSimulation
internal import Diagnostics
package import Foundation
internal import OpenSSL
internal import SecretMemory
package import SimulatedKeychain

/// A channel through the pasteboard. The sender announces the credential by opening a URL with the receiver's scheme.
///
/// The URL names the pasteboard item and contains no secret, because another app may claim the scheme. Any app may read
/// the item if the user consents.
package struct PasteboardChannel: SharingChannel {
    /// The channel's name, `url-pasteboard`.
    package let name = "url-pasteboard"
    private let ends: ChannelEndpoints

    /// Creates the channel between two apps.
    package init(_ ends: ChannelEndpoints) {
        self.ends = ends
    }

    /// Copies the credential to the pasteboard for at most `Pasteboard.standardLifetime` and opens the URL.
    ///
    /// - Throws: `SharingChannelError`: `expired`, `notPermitted`, `damaged`, `failed`.
    package func send(_ credential: Credential, now: Date) throws(SharingChannelError) {
        try SharingChannelError.wrapping {
            let lifetime = min(credential.expires.timeIntervalSince(now), Pasteboard.standardLifetime)
            guard lifetime > 0 else { throw SharingChannelError.expired }
            let count = try Pasteboard(device: ends.device).write(
                credential.encoded, owner: ends.sender, now: now, lifetime: lifetime)
            let url = "\(ends.receiver.bundleIdentifier)://credential?item=\(count)"
            try ends.device.open(SecretBytes(utf8: url), in: ends.receiver)
        }
        ends.announce()
    }

    /// Reads the item that the URL names. An app without a URL reads the current item.
    ///
    /// - Throws: `SharingChannelError`: `denied`, `expired`, `overwritten`, `notPermitted`, `damaged`, `failed`.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) throws(SharingChannelError) -> Credential? {
        try SharingChannelError.wrapping {
            let url = try ends.device.openedURL(by: app).flatMap { String(nonSecret: $0) }
            let item = url.flatMap { $0.split(separator: "=").last.flatMap { Int($0) } }
            let found = try Pasteboard(device: ends.device).read(by: app, now: now, expecting: item) {
                try consent(.paste($0))
            }
            return try found.map { try Credential($0, at: now) }
        }
    }

    /// Clears the pasteboard and deletes the receiver's record of the URL.
    ///
    /// - Throws: `SharingChannelError`: `damaged`, `failed`.
    package func remove() throws(SharingChannelError) {
        try SharingChannelError.wrapping {
            try Pasteboard(device: ends.device).clear()
            try ends.device.forgetOpenedURL(of: ends.receiver)
        }
    }
}
