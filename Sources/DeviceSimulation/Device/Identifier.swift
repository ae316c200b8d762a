/// The identifiers, in reverse DNS notation, under which this project's apps are known to the device and keep things
/// on it. Stored data and the commands' output hold them, so that none may change.
package enum Identifier {
    /// The bundle identifier of the provider's app.
    package static let provider = "red.hound.keyshare.provider"
    /// The bundle identifier of the consumer's app.
    package static let consumer = "red.hound.keyshare.consumer"
    /// The bundle identifier of a second app by the sender's team, with which channels are tried.
    package static let companion = "red.hound.keyshare.companion"

    /// The application group of the provider's app and extensions.
    package static let providerGroup = "group.red.hound.keyshare.provider"
    /// The keychain group, without the team, in which the provider keeps what it publishes.
    package static let publishedGroup = "red.hound.keyshare.shared"
    /// The keychain group, without the team, in which the provider keeps the authorities of its test credentials.
    package static let authorityGroup = "red.hound.keyshare.authorities"

    /// The keychain group, without the team, in which the provider's token extension keeps keys and certificates.
    package static let tokenGroup = "red.hound.keyshare.token"

    /// The keychain service under which the keychain channel keeps a credential.
    package static let keychainChannel = "red.hound.keyshare.credential"
    /// The name of the key and of the registration of the persistent-token channel.
    package static let tokenChannel = "red.hound.keyshare.credential-token"
    /// The keychain service under which the database channel keeps the key to its rows.
    package static let databaseChannel = "red.hound.keyshare.database"
    /// The keychain service under which the file channel keeps the key that both ends agreed on.
    package static let fileChannel = "red.hound.keyshare.pairing"
    /// The keychain service under which the key-sharing channel keeps a credential.
    package static let keySharingChannel = "red.hound.keyshare.shared-credential"
    /// The keychain service under which the key-sharing channel keeps the password that protects its credential.
    package static let keySharingChannelPassword = "red.hound.keyshare.shared-credential.password"
}

/// The name of a notification: all that a notification says.
package struct NotificationName: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name as text, which is the name of a file too.
    package let rawValue: String

    /// The notification that is called `name`.
    package init(_ name: String) {
        rawValue = name
    }

    /// The notification that a literal names.
    package init(stringLiteral name: String) {
        rawValue = name
    }

    /// Posted by the provider when it begins to serve, and when the identities that it publishes have changed.
    package static let identitiesChanged: NotificationName = "red.hound.keyshare.changed"
    /// Posted when the password of the provider's service has changed.
    package static let passwordChanged: NotificationName = "red.hound.keyshare.password-changed"
    /// Posted when the device was locked, unlocked or restarted, and when its passcode was set or removed.
    package static let deviceStateChanged: NotificationName = "red.hound.keyshare.device-state"
    /// Posted when tokens were registered or removed.
    package static let tokensChanged: NotificationName = "red.hound.keyshare.tokens-changed"
    /// Posted when the user's answer to questions of presence was set, and when a question was asked or answered.
    package static let presenceAnswered: NotificationName = "red.hound.keyshare.presence"
    /// Posted by the sender when a credential is on a channel.
    package static let credentialSent: NotificationName = "red.hound.keyshare.credential"
}
