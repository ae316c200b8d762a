package import DeviceSimulation
package import Foundation
package import SimulatedKeychain

/// A way to transfer a credential from one app of a device to another.
///
/// A channel contains at most one credential. Sending replaces the current credential. A credential remains until it is
/// removed, until it expires, or, on a one-time channel, until it is received. Each send posts
/// `NotificationName.credentialSent`.
///
/// Channels over a socket wait without blocking a thread. Channels over files block for the duration of the disk
/// access.
///
/// ```swift
/// let channel = KeychainChannel(ChannelEndpoints(device: device, sender: provider, receiver: companion))
/// try channel.send(Credential(account: "a", secret: secret, expires: end), now: now)
/// let received = try channel.receive(by: companion, now: now) { _ in true }
/// ```
package protocol SharingChannel: Sendable {
    /// The channel's name as commands print it, such as `keychain`.
    var name: String { get }

    /// Whether a credential can be received only once. A second `receive` throws `alreadyUsed` until another credential
    /// is sent.
    var isOneTime: Bool { get }

    /// Puts `credential` on the channel as the sender.
    ///
    /// - Throws: `SharingChannelError`. The previous credential then remains on the channel.
    func send(_ credential: Credential, now: Date) async throws(SharingChannelError)

    /// Returns the credential on the channel, or nil if there is no credential.
    ///
    /// - Parameters:
    ///   - app: The app that requests the credential. An attack is simulated by passing an app other than the receiver.
    ///   - now: The time against which expiry is checked.
    ///   - consent: Asks the user, if the channel requires consent.
    /// - Throws: `SharingChannelError` if the credential cannot be received.
    func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) async throws(SharingChannelError) -> Credential?

    /// Removes the credential from the channel, as the sender does on logout. It works in every state of the device and
    /// has no effect on an empty channel.
    ///
    /// - Throws: `SharingChannelError` if the credential could not be removed.
    func remove() async throws(SharingChannelError)

    /// Stops the channel's servers, as the end of the apps' processes would. Data on disk remains.
    func stop() async
}

extension SharingChannel {
    /// The default: a credential can be received any number of times.
    package var isOneTime: Bool { false }

    /// The default, for channels without a server.
    package func stop() async {}
}

/// A question that the user must answer before a channel returns a credential.
package enum ConsentQuestion: Sendable, Hashable {
    /// May this app read an item that another app copied to the pasteboard?
    case paste(PasteboardRequest)
    /// May this app receive this item? The user consents by picking it from a list. `reader` is a bundle identifier.
    case pick(item: String, reader: String)
    /// May this app use a key of a token? The key never leaves the token. `reader` is a bundle identifier.
    case use(reader: String)
}
