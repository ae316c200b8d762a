package import Foundation
package import OpenSSL

/// Through a key-chain group that both apps are of.
package struct KeychainRoad: Road {
    private static let service = "red.hound.keyshare.credential"

    /// What the road is called.
    package let name = "key-chain"
    private let ends: RoadEnds

    /// The road between `ends`.
    package init(_ ends: RoadEnds) {
        self.ends = ends
    }

    /// Keeps the credential where the first app to read it after a restart finds it.
    package func send(_ credential: Credential, now: Date) throws(RoadError) {
        let group = try ends.sharedKeychainGroup()
        try RoadError.wrapping {
            try Keychain(device: ends.device, app: ends.sender).setPassword(
                credential.encoded, service: Self.service, account: "", accessGroup: group)
        }
        ends.announce()
    }

    /// Looks in the group that the two ends share, by name.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) throws(RoadError) -> Credential? {
        let group = try ends.sharedKeychainGroup()
        return try RoadError.wrapping {
            let found = try Keychain(device: ends.device, app: app).password(
                service: Self.service, account: "", accessGroup: group)
            return try found.map { try Credential($0, at: now) }
        }
    }

    /// Deletes it from the group.
    package func remove() throws(RoadError) {
        let group = try ends.sharedKeychainGroup()
        try RoadError.wrapping {
            try Keychain(device: ends.device, app: ends.sender).deletePassword(
                service: Self.service, account: "", accessGroup: group)
        }
    }
}

extension Credential {
    /// What `encoded` gave, if its time is not over at `now`.
    ///
    /// - Throws: `RoadError`: `.damaged` for anything else, `.expired`.
    package init(_ encoded: SecretBytes, at now: Date) throws(RoadError) {
        guard let credential = Credential(encoded: encoded) else {
            throw RoadError(.damaged, "what is on the road is no credential")
        }
        guard now < credential.expires else {
            throw RoadError(.expired, "the credential's time is over")
        }
        self = credential
    }
}
