internal import DeviceSimulation
package import Foundation
package import SimulatedKeychain

/// A channel through a sealed state file in an application group that both apps belong to. The key of the file is in a
/// keychain group that both apps may use.
package struct AppGroupChannel: SharingChannel {
    /// The channel's name, `app-group`.
    package let name = "app-group"
    private let ends: ChannelEndpoints

    /// Creates the channel between two apps.
    package init(_ ends: ChannelEndpoints) {
        self.ends = ends
    }

    /// Writes the credential to the state file.
    ///
    /// - Throws: `SharingChannelError`: `missingEntitlement`, `locked`, `damaged`, `failed`.
    package func send(_ credential: Credential, now: Date) throws(SharingChannelError) {
        let file = try file(ends.sender)
        try SharingChannelError.wrapping { try file.write(credential.fields, expires: credential.expires) }
        ends.announce()
    }

    /// Reads the credential from the state file.
    ///
    /// - Throws: `SharingChannelError`: `missingEntitlement`, `locked`, `damaged`, `expired`, `failed`.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) throws(SharingChannelError) -> Credential? {
        switch try file(app).read(now: now) {
        case .fields(let fields, _):
            guard let credential = Credential(fields) else {
                throw SharingChannelError(.damaged, "the group's content is not a credential")
            }
            return credential
        case .nothing(.absent): return nil
        case .nothing(.expired): throw SharingChannelError.expired
        case .nothing(.noKey(.interactionNotAllowed)):
            throw SharingChannelError(.locked, "the key is unavailable because the device is locked")
        case .nothing(.noKey(.missingEntitlement)):
            throw SharingChannelError(
                .missingEntitlement,
                "\(app.bundleIdentifier) is not entitled to the keychain group of the key")
        case .nothing(.noKey), .nothing(.unreadable):
            throw SharingChannelError(.failed, "the group's file or its key cannot be read")
        case .nothing(.damaged), .nothing(.missingField), .nothing(.otherVersion):
            throw SharingChannelError(.damaged, "the group's content is not a credential")
        }
    }

    /// Removes the state file.
    ///
    /// - Throws: `SharingChannelError`: `missingEntitlement`, `failed`.
    package func remove() throws(SharingChannelError) {
        let file = try file(ends.sender)
        try SharingChannelError.wrapping { try file.remove() }
    }

    private func file(_ app: App) throws(SharingChannelError) -> GroupStateFile {
        let group = try ends.sharedApplicationGroup()
        let keychainGroup = try ends.sharedKeychainGroup()
        return try SharingChannelError.wrapping {
            GroupStateFile(
                "credential", group: try AppGroup(group, app: app, device: ends.device),
                keychain: try Keychain(device: ends.device, app: app), keychainGroup: keychainGroup,
                required: [Credential.accountField, Credential.secretField])
        }
    }
}
