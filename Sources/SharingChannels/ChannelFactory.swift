internal import DeviceSimulation

/// A channel to try.
package struct ChannelFactory: Sendable {
    /// What the channel is called.
    package let name: String
    /// Gives both ends what they need to agree on beforehand, once.
    package let prepare: @Sendable (ChannelEndpoints) throws -> Void
    /// Makes the channel, in each process that uses it.
    package let make: @Sendable (ChannelEndpoints) throws -> any SharingChannel

    /// A channel that `make` makes.
    package init(
        _ name: String, prepare: @escaping @Sendable (ChannelEndpoints) throws -> Void = { _ in },
        make: @escaping @Sendable (ChannelEndpoints) throws -> any SharingChannel
    ) {
        self.name = name
        self.prepare = prepare
        self.make = make
    }

    /// Through a keychain group.
    package static let keychain = ChannelFactory("keychain") { KeychainChannel($0) }
    /// Through a state file of an application group.
    package static let group = ChannelFactory("app-group") { GroupChannel($0) }
    /// Through a database of an application group.
    package static let database = ChannelFactory("database") { DatabaseChannel($0) }
    /// Through a file, between apps that were paired.
    package static let file = ChannelFactory("file", prepare: { try FileChannel($0).pair() }) {
        FileChannel($0)
    }
    /// Through the pasteboard.
    package static let pasteboard = ChannelFactory("url-pasteboard") { PasteboardChannel($0) }
}

extension ChannelFactory {
    /// Makes every channel there is, in the order in which an app should prefer them: first those that no other
    /// app can read, the quicker before the slower, then those that ask the user.
    ///
    /// - Parameter runtimeDirectory: `$XDG_RUNTIME_DIR`, where there is one: it holds the socket of a device
    ///   whose own path is too long for a socket address (unix(7)).
    package static func all(runtimeDirectory: String?) -> [ChannelFactory] {
        [
            .keychain, .group, .database, .file, ChannelFactory("loopback-http") { LoopbackChannel($0) },
            ChannelFactory("key-sharing-2025") {
                try KeySharingChannel($0, runtimeDirectory: runtimeDirectory)
            },
            .pasteboard,
        ]
    }
}
