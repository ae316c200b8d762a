package import Diagnostics
package import DeviceSimulation
package import Foundation
internal import KeyOperations
internal import OpenSSL
internal import PersistentToken
internal import PrivateFiles
internal import SecretMemory

/// A channel that transfers no key material: the receiver uses a key of Android's KeyChain, and the key never leaves it.
///
/// The sender installs a key under an alias and encrypts each credential with the public key. The user grants the key to
/// an app once, and the grant survives restarts. No entitlement is required, so any app can ask the user. The key is
/// available after the first unlock. The encrypted credential belongs to the sender and is deleted with its app.
package struct AndroidKeyChainChannel: SharingChannel {
    private static let alias = Identifier.aliasChannel
    private static let algorithm = SecKeyAlgorithm.eciesEncryption(
        isCofactor: false, .sha256, hasVariableIV: false)
    /// The maximum size of an encrypted credential, in bytes.
    private static let largestCredential = 1 << 20

    /// The channel's name, `android-keychain`.
    package let name = "android-keychain"
    private let ends: ChannelEndpoints

    /// Creates the channel between two apps.
    package init(_ ends: ChannelEndpoints) {
        self.ends = ends
    }

    /// Installs the key, unless it is already installed, and stores the encrypted credential.
    ///
    /// - Throws: `SharingChannelError`: `locked` before the first unlock, `damaged`, `failed`.
    package func send(_ credential: Credential, now: Date) throws(SharingChannelError) {
        try SharingChannelError.wrapping {
            let keyChain = try AndroidKeyChain(ends.device) { now }
            if try keyChain.entry(Self.alias) == nil {
                let entry = KeyChainEntry(alias: Self.alias, label: Self.alias, certificate: [])
                try keyChain.install([(entry, try PrivateKey.generate(.p256).pkcs8())])
            }
            let key = try PrivateKey(pkcs8: try keyChain.privateKey(Self.alias))
            try AtomicFile.write(
                try key.publicKey.encrypt(credential.encoded, Self.algorithm), to: try path())
        }
        ends.announce()
    }

    /// Decrypts the stored credential with the key. Asks the user for a key grant if the app has not received one.
    ///
    /// - Throws: `SharingChannelError`: `denied`, `locked`, `damaged`, `expired`, `failed`.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) throws(SharingChannelError) -> Credential? {
        try SharingChannelError.wrapping {
            let file = try PrivateFile.open(try path())
            guard let sealed = try file?.read(atMost: Self.largestCredential) else { return nil }
            // Check the device's state before asking the user.
            let key = try PrivateKey(
                pkcs8: try AndroidKeyChain(ends.device, now: { now }).privateKey(Self.alias))
            let access = try AliasAccess(ends.device)
            if try !access.access(of: app.bundleIdentifier).keyGrants.contains(Self.alias) {
                guard try consent(.use(reader: app.bundleIdentifier)) else {
                    throw SharingChannelError(.denied, "the user did not grant the key")
                }
                try access.grant(Self.alias, to: app.bundleIdentifier, at: now)
            }
            let plaintext: SecretBytes
            do {
                plaintext = try key.decrypt(sealed, Self.algorithm)
            } catch {
                throw SharingChannelError(
                    .damaged, "the stored credential does not decrypt with KeyChain\u{2019}s key",
                    cause: error)
            }
            return try Credential(plaintext, at: now)
        }
    }

    /// Removes the encrypted credential, and then the key with its grants.
    ///
    /// - Throws: `SharingChannelError`: `damaged`, `failed`.
    package func remove() throws(SharingChannelError) {
        try SharingChannelError.wrapping {
            try AtomicFile.remove(try path())
            _ = try AndroidKeyChain(ends.device, now: { Date() }).remove([Self.alias])
        }
    }

    private func path() throws(FileError) -> String {
        try ends.device.container(of: ends.sender) + "/" + Self.alias
    }
}
