/// The identifiers of this project's apps and of their data on the device, in reverse DNS notation. Stored data and the
/// commands' output contain them, so they must never change.
package enum Identifier {
    /// The bundle identifier of the provider's app.
    package static let provider = "red.hound.keyshare.provider"
    /// The bundle identifier of the consumer's app.
    package static let consumer = "red.hound.keyshare.consumer"
    /// The bundle identifier of a second app of the sender's team, used to try channels.
    package static let companion = "red.hound.keyshare.companion"

    /// The app group of the provider's app and extensions.
    package static let providerGroup = "group.red.hound.keyshare.provider"
    /// The keychain group, without the team, of the provider's published identities.
    package static let publishedGroup = "red.hound.keyshare.shared"
    /// The keychain group, without the team, of the authorities of the provider's test credentials.
    package static let authorityGroup = "red.hound.keyshare.authorities"

    /// The keychain group, without the team, of the token extension's keys and certificates.
    package static let tokenGroup = "red.hound.keyshare.token"

    /// The keychain service of the keychain channel's credential.
    package static let keychainChannel = "red.hound.keyshare.credential"
    /// The name of the key and of the registration of the persistent-token channel.
    package static let tokenChannel = "red.hound.keyshare.credential-token"
    /// The alias of the key of the android-keychain channel.
    package static let aliasChannel = "red.hound.keyshare.credential-alias"
    /// The keychain service of the key that encrypts the database channel's rows.
    package static let databaseChannel = "red.hound.keyshare.database"
    /// The keychain service of the key that both ends of the file channel agreed on.
    package static let fileChannel = "red.hound.keyshare.pairing"
    /// The keychain service of the key-sharing channel's credential.
    package static let keySharingChannel = "red.hound.keyshare.shared-credential"
    /// The keychain service of the password that protects the key-sharing channel's credential.
    package static let keySharingChannelPassword = "red.hound.keyshare.shared-credential.password"
}

/// The name of a notification, which is its only content.
package struct NotificationName: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name as text, which is also the name of a file.
    package let rawValue: String

    /// Creates the notification name `name`.
    package init(_ name: String) {
        rawValue = name
    }

    /// Creates a notification name from a literal.
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
    /// Posted when the user's answer to presence questions was configured, and when a question was asked or answered.
    package static let presenceAnswered: NotificationName = "red.hound.keyshare.presence"
    /// Posted when a broadcast about aliases was added to the device's log.
    package static let aliasBroadcast: NotificationName = "red.hound.keyshare.alias-broadcast"
    /// Posted by the sender when a credential is on a channel.
    package static let credentialSent: NotificationName = "red.hound.keyshare.credential"
}
