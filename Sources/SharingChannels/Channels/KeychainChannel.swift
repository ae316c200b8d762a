internal import DeviceSimulation
package import Foundation
internal import OpenSSL
internal import SecretMemory
package import SimulatedKeychain

/// A channel through a keychain group that both apps may write to.
package struct KeychainChannel: SharingChannel {
    private static let service = Identifier.keychainChannel

    /// The channel's name, `keychain`.
    package let name = "keychain"
    private let ends: ChannelEndpoints

    /// Creates the channel between two apps.
    package init(_ ends: ChannelEndpoints) {
        self.ends = ends
    }

    /// Stores the credential as a generic password of the group. Any app of the group can read it after the first
    /// unlock.
    ///
    /// - Throws: `SharingChannelError`: `missingEntitlement`, `locked`, `damaged`, `failed`.
    package func send(_ credential: Credential, now: Date) throws(SharingChannelError) {
        let group = try ends.sharedKeychainGroup()
        try SharingChannelError.wrapping {
            try Keychain(device: ends.device, app: ends.sender).setPassword(
                credential.encoded, service: Self.service, account: "", accessGroup: group)
        }
        ends.announce()
    }

    /// Reads the credential from the keychain group of the two apps.
    ///
    /// - Throws: `SharingChannelError`: `missingEntitlement`, `locked`, `damaged`, `expired`, `failed`.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) throws(SharingChannelError) -> Credential? {
        let group = try ends.sharedKeychainGroup()
        return try SharingChannelError.wrapping {
            let found = try Keychain(device: ends.device, app: app).password(
                service: Self.service, account: "", accessGroup: group)
            return try found.map { try Credential($0, at: now) }
        }
    }

    /// Deletes the credential from the group.
    ///
    /// - Throws: `SharingChannelError`: `missingEntitlement`, `damaged`, `failed`.
    package func remove() throws(SharingChannelError) {
        let group = try ends.sharedKeychainGroup()
        try SharingChannelError.wrapping {
            try Keychain(device: ends.device, app: ends.sender).deletePassword(
                service: Self.service, account: "", accessGroup: group)
        }
    }
}
