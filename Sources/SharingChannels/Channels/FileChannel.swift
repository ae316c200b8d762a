internal import DeviceSimulation
internal import Diagnostics
package import Foundation
private import OpenSSL
internal import PrivateFiles
package import SimulatedKeychain

/// A channel for apps without a common group: a file in a folder that every app may read. The file is sealed with a key
/// that the two apps agreed on before. Each app stores the key in its own keychain group.
package struct FileChannel: SharingChannel {
    private static let service = Identifier.fileChannel

    /// The channel's name, `file`.
    package let name = "file"
    private let ends: ChannelEndpoints

    /// Creates the channel between two apps.
    package init(_ ends: ChannelEndpoints) {
        self.ends = ends
    }

    /// Gives both apps a new key, as if the user had scanned one app's code with the other.
    ///
    /// - Throws: `SharingChannelError`: `locked`, `damaged`, `failed`.
    package func pair() throws(SharingChannelError) {
        let key = MasterKey.random()
        try SharingChannelError.wrapping {
            for app in [ends.sender, ends.receiver] {
                try Keychain(device: ends.device, app: app).setPassword(
                    key, service: Self.service, account: account, accessGroup: app.applicationIdentifier)
            }
        }
    }

    /// Writes the credential to the sealed file.
    ///
    /// - Throws: `SharingChannelError`: `notPaired`, `locked`, `damaged`, `failed`.
    package func send(_ credential: Credential, now: Date) throws(SharingChannelError) {
        let key = try key(of: ends.sender)
        try SharingChannelError.wrapping {
            let sealed = try key.seal(credential.encoded, associatedData: Array(account.utf8))
            try AtomicFile.write(sealed, to: try path())
        }
        ends.announce()
    }

    /// Reads and decrypts the file. Any app may read it, but only a paired app has the key.
    ///
    /// - Throws: `SharingChannelError`: `notPaired`, `locked`, `damaged`, `expired`, `failed`.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) throws(SharingChannelError) -> Credential? {
        let sealed = try SharingChannelError.wrapping {
            try PrivateFile.open(try path())?.read(atMost: 1 << 20)
        }
        guard let sealed else { return nil }
        guard let plain = try key(of: app).open(sealed, associatedData: Array(account.utf8)) else {
            throw SharingChannelError(.damaged, "the file was altered, or encrypted for another app")
        }
        return try Credential(plain, at: now)
    }

    /// Removes the file. The apps remain paired.
    ///
    /// - Throws: `SharingChannelError` `failed`.
    package func remove() throws(SharingChannelError) {
        try SharingChannelError.wrapping { try AtomicFile.remove(try path()) }
    }

    private var account: String { "\(ends.sender.bundleIdentifier) \(ends.receiver.bundleIdentifier)" }

    private func path() throws(FileError) -> String {
        try ends.device.publicFolder() + "/" + account.replacing(" ", with: "-to-")
    }

    private func key(of app: App) throws(SharingChannelError) -> SealingKey {
        try SharingChannelError.wrapping {
            let secret = try Keychain(device: ends.device, app: app).password(
                service: Self.service, account: account, accessGroup: app.applicationIdentifier)
            guard let secret else {
                throw SharingChannelError(
                    .notPaired, "\(app.bundleIdentifier) has no key for this channel")
            }
            return try SealingKey(secret)
        }
    }
}
