internal import DeviceSimulation
internal import Diagnostics
package import Foundation
internal import OpenSSL
package import SimulatedKeychain

/// A channel that transfers no key material: the receiver uses a key of Android's KeyChain, and the key never leaves it.
///
/// The sender installs a key under an alias and encrypts each credential with the public key. The user grants the key to
/// an app once, and the grant survives restarts. No entitlement is required, so any app can ask the user. The key is
/// available after the first unlock. The encrypted credential belongs to the sender and is deleted with its app.
package struct AndroidKeyChainChannel: SharingChannel {
    private static let alias = Identifier.aliasChannel

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
            try file.write(credential, for: key.publicKey)
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
            guard let sealed = try file.read() else { return nil }
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
            return try SealedCredentialFile.open(
                sealed, with: key, at: now,
                problem: "the stored credential does not decrypt with KeyChain\u{2019}s key")
        }
    }

    /// Removes the encrypted credential, and then the key with its grants.
    ///
    /// - Throws: `SharingChannelError`: `damaged`, `failed`.
    package func remove() throws(SharingChannelError) {
        try SharingChannelError.wrapping {
            try file.remove()
            _ = try AndroidKeyChain(ends.device, now: { Date() }).remove([Self.alias])
        }
    }

    private var file: SealedCredentialFile { SealedCredentialFile(ends: ends, name: Self.alias) }
}
