package import Diagnostics
package import DeviceSimulation
package import Foundation

/// A way for a credential from one app of a device to another.
///
/// A channel holds one credential at a time. The next one that is sent takes its place; it stays until it is removed,
/// until it expires, or, on a one-time channel, until it has been received. Each time, `NotificationName.credentialSent`
/// is posted.
///
/// Channels over a socket wait without holding a thread. Channels over files block for as long as the disk takes.
///
/// ```swift
/// let channel = KeychainChannel(ChannelEndpoints(device: device, sender: provider, receiver: companion))
/// try channel.send(Credential(account: "a", secret: secret, expires: end), now: now)
/// let received = try channel.receive(by: companion, now: now) { _ in true }
/// ```
package protocol SharingChannel: Sendable {
    /// The channel's name as commands print it, such as `keychain`.
    var name: String { get }

    /// Whether a credential can be received once only. A second `receive` fails with `alreadyUsed` until another one
    /// is sent.
    var isOneTime: Bool { get }

    /// Puts `credential` on the channel, as the sender.
    ///
    /// - Throws: `SharingChannelError`; the credential that was on the channel before stays then.
    func send(_ credential: Credential, now: Date) async throws(SharingChannelError)

    /// Returns the credential on the channel; nil where there is none.
    ///
    /// - Parameters:
    ///   - app: The app that asks. It need not be the receiver: an attacker is tried this way.
    ///   - now: The time, for expiry.
    ///   - consent: Asks the user, where the channel requires consent.
    /// - Throws: `SharingChannelError` where the credential cannot be had.
    func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) async throws(SharingChannelError) -> Credential?

    /// Removes the credential from the channel, as the sender does on log-out. It works in every state of the device,
    /// and has no effect where there is none.
    ///
    /// - Throws: `SharingChannelError` where the credential stays.
    func remove() async throws(SharingChannelError)

    /// Ends what runs for the channel, as the end of the apps' processes does. Data on disk stays.
    func stop() async
}

extension SharingChannel {
    /// The answer for most channels: a credential can be received as often as one likes.
    package var isOneTime: Bool { false }

    /// The implementation for channels through files, for which nothing runs.
    package func stop() async {}
}

/// A question to the user before a channel gives a credential away.
package enum ConsentQuestion: Sendable, Hashable {
    /// May an app read what another app copied to the pasteboard?
    case paste(PasteboardRequest)
    /// May an app have this item of a list? The user answers by picking it. `reader` is a bundle identifier.
    case pick(item: String, reader: String)
    /// May an app use a key of a token, which stays where it is? `reader` is a bundle identifier.
    case use(reader: String)
}
