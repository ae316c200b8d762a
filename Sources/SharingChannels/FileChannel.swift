package import DeviceSimulation
package import Foundation
private import OpenSSL
internal import PrivateFiles

/// Through a file in a folder that every app may read, for apps that share no group; sealed with a key that
/// the two ends agreed on before, which each keeps in its own part of the keychain.
package struct FileChannel: SharingChannel {
    private static let service = "red.hound.keyshare.pairing"

    /// What the channel is called.
    package let name = "file"
    private let ends: ChannelEndpoints

    /// The channel between `ends`.
    package init(_ ends: ChannelEndpoints) {
        self.ends = ends
    }

    /// Gives both ends one new key, as the user does when showing one app's code to the other.
    ///
    /// - Throws: `SharingChannelError`.
    package func pair() throws(SharingChannelError) {
        let key = MasterKey.random()
        try SharingChannelError.wrapping {
            for app in [ends.sender, ends.receiver] {
                try Keychain(device: ends.device, app: app).setPassword(
                    key, service: Self.service, account: account, accessGroup: app.applicationIdentifier)
            }
        }
    }

    /// Writes the file, and tells who observes.
    package func send(_ credential: Credential, now: Date) throws(SharingChannelError) {
        let key = try key(of: ends.sender)
        try SharingChannelError.wrapping {
            let sealed = try key.seal(credential.encoded, associatedData: Array(account.utf8))
            try AtomicFile.write(sealed, to: try path())
        }
        ends.announce()
    }

    /// Reads the file, which any app may, and opens it, which takes the key.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) throws(SharingChannelError) -> Credential? {
        let sealed = try SharingChannelError.wrapping {
            try PrivateFile.open(try path())?.read(atMost: 1 << 20)
        }
        guard let sealed else { return nil }
        guard let plain = try key(of: app).open(sealed, associatedData: Array(account.utf8)) else {
            throw SharingChannelError(.damaged, "the file was altered, or sealed for somebody else")
        }
        return try Credential(plain, at: now)
    }

    /// Removes the file. The pairing stays.
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
                    .notPaired, "\(app.bundleIdentifier) has no key for this channel",
                    hint: "pair the two apps first")
            }
            return try SealingKey(secret)
        }
    }
}
