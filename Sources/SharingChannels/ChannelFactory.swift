/// A channel that can be made between any two apps.
package struct ChannelFactory: Sendable {
    /// The name of the channel, as `keyshare-device channels` prints it.
    package let name: String
    /// Gives both ends what they must agree on before the first credential. It is called once.
    package let prepare: @Sendable (ChannelEndpoints) throws -> Void
    /// Makes the channel. It is called in each process that uses the channel.
    package let make: @Sendable (ChannelEndpoints) throws -> any SharingChannel

    /// Makes a factory from its parts.
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
    /// The channel through a file, between apps that were paired.
    package static let file = ChannelFactory("file", prepare: { try FileChannel($0).pair() }) {
        FileChannel($0)
    }
    /// The channel over HTTP on the loopback address.
    package static let loopbackHTTP = ChannelFactory("loopback-http") { LoopbackChannel($0) }
    /// The channel on which a token's key is used and nothing is handed over.
    package static let persistentToken = ChannelFactory("persistent-token") { PersistentTokenChannel($0) }
    /// The channel through the pasteboard, announced by a URL.
    package static let urlPasteboard = ChannelFactory("url-pasteboard") { PasteboardChannel($0) }

    /// Makes the channel of key sharing as of 2025.
    ///
    /// - Parameter runtimeDirectory: The value of `XDG_RUNTIME_DIR`; nil without one. It holds the socket of a device
    ///   whose own path is too long for a socket's address (unix(7)).
    package static func keySharing2025(runtimeDirectory: String?) -> ChannelFactory {
        ChannelFactory("key-sharing-2025") {
            try KeySharingChannel($0, runtimeDirectory: runtimeDirectory)
        }
    }

    /// Makes all channels in the order in which an app should prefer them: first those that no other app can read, the
    /// faster before the slower, then those that ask the user.
    ///
    /// - Parameter runtimeDirectory: The value of `XDG_RUNTIME_DIR`, for the channel of key sharing; nil without one.
    package static func all(runtimeDirectory: String?) -> [ChannelFactory] {
        [
            .keychain, .appGroup, .database, .file, .loopbackHTTP, .persistentToken,
            .keySharing2025(runtimeDirectory: runtimeDirectory), .urlPasteboard,
        ]
    }
}
