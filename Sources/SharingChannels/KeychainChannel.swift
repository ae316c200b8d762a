package import DeviceSimulation
package import SecretMemory
package import Foundation
internal import OpenSSL

/// Through a keychain group that both apps are of.
package struct KeychainChannel: SharingChannel {
    private static let service = "red.hound.keyshare.credential"

    /// What the channel is called.
    package let name = "keychain"
    private let ends: ChannelEndpoints

    /// The channel between `ends`.
    package init(_ ends: ChannelEndpoints) {
        self.ends = ends
    }

    /// Keeps the credential where the first app to read it after a restart finds it.
    package func send(_ credential: Credential, now: Date) throws(SharingChannelError) {
        let group = try ends.sharedKeychainGroup()
        try SharingChannelError.wrapping {
            try Keychain(device: ends.device, app: ends.sender).setPassword(
                credential.encoded, service: Self.service, account: "", accessGroup: group)
        }
        ends.announce()
    }

    /// Looks in the group that the two ends share, by name.
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

    /// Deletes it from the group.
    package func remove() throws(SharingChannelError) {
        let group = try ends.sharedKeychainGroup()
        try SharingChannelError.wrapping {
            try Keychain(device: ends.device, app: ends.sender).deletePassword(
                service: Self.service, account: "", accessGroup: group)
        }
    }
}

extension Credential {
    /// What `encoded` gave, if its time is not over at `now`.
    ///
    /// - Throws: `SharingChannelError`: `.damaged` for anything else, `.expired`.
    package init(_ encoded: SecretBytes, at now: Date) throws(SharingChannelError) {
        guard let credential = Credential(encoded: encoded) else {
            throw SharingChannelError(.damaged, "what is on the channel is no credential")
        }
        guard now < credential.expires else {
            throw SharingChannelError(.expired, "the credential's time is over")
        }
        self = credential
    }
}
