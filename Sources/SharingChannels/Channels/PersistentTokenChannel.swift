internal import DeviceSimulation
internal import Diagnostics
package import Foundation
internal import OpenSSL
internal import SecretMemory
package import SimulatedKeychain

/// A channel that transfers no key material: the receiver uses a key of the sender's token, and the key never leaves
/// the token.
///
/// The sender registers a key of its token extension and encrypts each credential with the public key. An app with the
/// entitlement `com.apple.token` asks the token to decrypt it, and the user must consent. The key is in the sender's
/// own keychain group and is available only while the device has a passcode and is unlocked. The registration belongs
/// to the sender and is deleted with its app.
package struct PersistentTokenChannel: SharingChannel {
    private static let label = Identifier.tokenChannel

    /// The channel's name, `persistent-token`.
    package let name = "persistent-token"
    private let ends: ChannelEndpoints

    /// Creates the channel between two apps.
    package init(_ ends: ChannelEndpoints) {
        self.ends = ends
    }

    /// Registers the key, unless it is already registered, and stores the encrypted credential with the registration.
    ///
    /// - Throws: `SharingChannelError`: `missingEntitlement` if the receiver may not use tokens, `locked` if the device
    ///   is locked or has no passcode, `damaged`, `failed`.
    package func send(_ credential: Credential, now: Date) throws(SharingChannelError) {
        try requireEntitlement(ends.receiver)
        try SharingChannelError.wrapping {
            try registration.write(credential, for: makeKey().publicKey)
        }
        ends.announce()
    }

    /// Asks the token to decrypt the credential that is stored with the registration.
    ///
    /// - Throws: `SharingChannelError`: `missingEntitlement`, `denied`, `locked`, `damaged`, `expired`, `failed`.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) throws(SharingChannelError) -> Credential? {
        try requireEntitlement(app)
        return try SharingChannelError.wrapping {
            guard let sealed = try registration.read() else { return nil }
            // Check the device's state before asking the user.
            let key = try key()
            guard try consent(.use(reader: app.bundleIdentifier)) else {
                throw SharingChannelError(.denied, "the user did not allow the key to be used")
            }
            return try SealedCredentialFile.open(
                sealed, with: key, at: now, problem: "the token's stored credential cannot be decrypted")
        }
    }

    /// Removes the registration and then the key.
    ///
    /// - Throws: `SharingChannelError`: `damaged`, `failed`.
    package func remove() throws(SharingChannelError) {
        try SharingChannelError.wrapping {
            try registration.remove()
            _ = try keychain().delete(each: [query])
        }
    }

    private func requireEntitlement(_ app: App) throws(SharingChannelError) {
        guard app.entitlements.mayUseTokens else {
            let group = Entitlements.tokenGroup
            throw SharingChannelError(
                .missingEntitlement, "\(app.bundleIdentifier) is not entitled to \(group)",
                missingGroup: MissingGroup(
                    kind: .keychain, isOneTeam: true,
                    gaps: ["add \(group) to the receiver's keychain-access-groups"]))
        }
    }

    /// Returns the key and generates it on first use.
    private func makeKey() throws -> PrivateKey {
        do {
            return try key()
        } catch let error as KeychainError where error.code == .itemNotFound {
            // No key exists yet.
        }
        let key = try PrivateKey.generate(.p256)
        do {
            try keychain().add(
                NewItem.key(try key.pkcs8(), label: Self.label)
                    .with(accessibility: .whenPasscodeSetThisDeviceOnly, accessGroup: group))
            return key
        } catch let error as KeychainError where error.code == .duplicateItem {
            // Another process stored its key first. Use that key.
            return try self.key()
        }
    }

    private func key() throws -> PrivateKey { try PrivateKey(pkcs8: try secret()) }

    private func secret() throws(KeychainError) -> SecretBytes {
        try keychain().copyMatching(query, returnsData: true).first?.data ?? SecretBytes([])
    }

    private var query: KeychainQuery { KeychainQuery(.key, label: Self.label, accessGroup: group) }

    /// The sender's own keychain group. No other app is entitled to it.
    private var group: String { ends.sender.applicationIdentifier }

    private func keychain() throws(KeychainError) -> Keychain {
        try Keychain(device: ends.device, app: ends.sender)
    }

    private var registration: SealedCredentialFile { SealedCredentialFile(ends: ends, name: Self.label) }
}
