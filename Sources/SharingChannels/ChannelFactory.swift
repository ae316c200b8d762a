/// Creates one kind of channel between any two apps.
package struct ChannelFactory: Sendable {
    /// The name of the channel, as `keyshare-device channels` prints it.
    package let name: String
    /// Sets up the state that both apps must share before the first credential, such as a key. Called once.
    package let prepare: @Sendable (ChannelEndpoints) throws -> Void
    /// Creates the channel. Called in each process that uses the channel.
    package let make: @Sendable (ChannelEndpoints) throws -> any SharingChannel

    /// Creates a factory.
    package init(
        _ name: String, prepare: @escaping @Sendable (ChannelEndpoints) throws -> Void = { _ in },
        make: @escaping @Sendable (ChannelEndpoints) throws -> any SharingChannel
    ) {
        self.name = name
        self.prepare = prepare
        self.make = make
    }

    /// The channel through a keychain group.
    package static let keychain = ChannelFactory("keychain") { KeychainChannel($0) }
    /// The channel through a state file of an application group.
    package static let appGroup = ChannelFactory("app-group") { AppGroupChannel($0) }
    /// The channel through a database of an application group.
    package static let database = ChannelFactory("database") { DatabaseChannel($0) }
    /// The channel through a file. It requires the two apps to be paired.
    package static let file = ChannelFactory("file", prepare: { try FileChannel($0).pair() }) {
        FileChannel($0)
    }
    /// The channel over HTTP on the loopback address.
    package static let loopbackHTTP = ChannelFactory("loopback-http") { LoopbackChannel($0) }
    /// The channel on which the receiver uses a key of the sender's token. The key is never transferred.
    package static let persistentToken = ChannelFactory("persistent-token") { PersistentTokenChannel($0) }
    /// The channel on which the receiver uses a key of Android's KeyChain. The key is never transferred.
    package static let androidKeyChain = ChannelFactory("android-keychain") { AndroidKeyChainChannel($0) }
    /// The channel through the pasteboard, announced by a URL.
    package static let urlPasteboard = ChannelFactory("url-pasteboard") { PasteboardChannel($0) }

    /// Returns the factory for the channel of key sharing as of 2025.
    ///
    /// - Parameter runtimeDirectory: The value of `XDG_RUNTIME_DIR`, or nil if it is unset. The socket is in this
    ///   folder if the path in the device's folder is too long for a socket address (unix(7)).
    package static func keySharing2025(runtimeDirectory: String?) -> ChannelFactory {
        ChannelFactory("key-sharing-2025") {
            try KeySharingChannel($0, runtimeDirectory: runtimeDirectory)
        }
    }

    /// Returns the factories of all channels in the order in which an app should prefer them: first the channels that
    /// no other app can read, with the faster ones first, then the channels that ask the user.
    ///
    /// - Parameter runtimeDirectory: The value of `XDG_RUNTIME_DIR`, for the channel of key sharing, or nil if it is
    ///   unset.
    package static func all(runtimeDirectory: String?) -> [ChannelFactory] {
        [
            .keychain, .appGroup, .database, .file, .loopbackHTTP, .persistentToken,
            .androidKeyChain, .keySharing2025(runtimeDirectory: runtimeDirectory), .urlPasteboard,
        ]
    }
}
