package import DeviceSimulation
internal import OpenSSL
package import SecretMemory
package import SimulatedKeychain

/// Creates, reads and replaces the service password in the keychain.
///
/// Each provider has one password for all its files, created on first use (docs/rules.md R6.5). It is a generic
/// password in the keychain group that the provider's app and extensions share.
package struct ServicePasswordStore: Sendable {
    private let keychain: Keychain
    private let accessGroup: String
    private let device: Device

    /// The service and the account of the generic password (docs/rules.md R8.3).
    package static let serviceAndAccount = "PurebredKeySharing"

    init(_ keychain: Keychain, accessGroup: String, device: Device) {
        self.keychain = keychain
        self.accessGroup = accessGroup
        self.device = device
    }

    /// Reads the service password, and creates it on first use (docs/rules.md R6.5). If several processes create it
    /// concurrently, all get the same password.
    ///
    /// - Throws: `KeychainError`: `.interactionNotAllowed` while the device's state makes the password inaccessible.
    package func read() throws(KeychainError) -> SecretBytes {
        try keychain.createOrReadPassword(
            service: Self.serviceAndAccount, account: Self.serviceAndAccount,
            accessibility: ProviderStore.accessibility, accessGroup: accessGroup
        ) {
            var random = RandomSource.system.generator()
            return Self.makePassword(using: &random)
        }
    }

    /// Replaces the service password with a new one, and posts `.passwordChanged` (docs/rules.md R6.9).
    ///
    /// Files that were exported under the old password cannot be opened with the new one. A running provider switches
    /// to the new password when it receives the notification, or at the next request about an item.
    ///
    /// - Throws: `KeychainError`: `.interactionNotAllowed` while the device's state makes the password inaccessible.
    package func rotate() throws(KeychainError) {
        var random = RandomSource.system.generator()
        try keychain.setPassword(
            Self.makePassword(using: &random), service: Self.serviceAndAccount,
            account: Self.serviceAndAccount, accessibility: ProviderStore.accessibility,
            accessGroup: accessGroup)
        postChange()
    }

    /// Notifies observers that the service password has changed.
    ///
    /// Call this after the new password is on disk. A failure to post the notification is ignored, because a provider
    /// also compares the keychain's change count at every request about an item.
    func postChange() {
        try? Notifications(device: device).post(.passwordChanged)
    }
}

extension ServicePasswordStore {
    /// Returns a new service password: 32 letters, digits and punctuation marks, about 209 bits (docs/rules.md R6.4).
    package static func makePassword(using random: inout some RandomNumberGenerator) -> SecretBytes {
        make(count: 32, of: letters + digits + punctuation, using: &random)
    }

    /// Returns a new password for one legacy export: 20 letters and digits, about 119 bits (docs/rules.md R4.13). It
    /// goes to the pasteboard and is not stored in a keychain.
    package static func makeLegacyPassword(using random: inout some RandomNumberGenerator) -> SecretBytes {
        make(count: 20, of: letters + digits, using: &random)
    }

    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    private static let digits = Array("0123456789".utf8)
    private static let punctuation = Array("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~".utf8)

    private static func make(
        count: Int, of alphabet: [UInt8], using random: inout some RandomNumberGenerator
    ) -> SecretBytes {
        unsafe SecretBytes(capacity: count) { buffer in
            for index in 0..<count {
                unsafe buffer[index] = alphabet[Int.random(in: alphabet.indices, using: &random)]
            }
            return count
        }
    }
}

extension Notifications {
    /// The name of the notification that is posted after the service password is replaced or removed.
    package static let passwordChanged = "red.hound.keyshare.password-changed"
}
