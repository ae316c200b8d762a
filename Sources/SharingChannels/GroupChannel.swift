package import DeviceSimulation
package import Foundation

/// Through a sealed state file in an application group that both apps are of; its key lies in a keychain
/// group of theirs.
package struct GroupChannel: SharingChannel {
    /// What the channel is called.
    package let name = "app-group"
    private let ends: ChannelEndpoints

    /// The channel between `ends`.
    package init(_ ends: ChannelEndpoints) {
        self.ends = ends
    }

    /// Writes the state file, and tells who observes.
    package func send(_ credential: Credential, now: Date) throws(SharingChannelError) {
        let file = try file(ends.sender)
        try SharingChannelError.wrapping { try file.write(credential.fields, expires: credential.expires) }
        ends.announce()
    }

    /// Reads the state file.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) throws(SharingChannelError) -> Credential? {
        switch try file(app).read(now: now) {
        case .fields(let fields, _):
            guard let credential = Credential(fields) else {
                throw SharingChannelError(.damaged, "what is in the group is no credential")
            }
            return credential
        case .nothing(.absent): return nil
        case .nothing(.expired): throw SharingChannelError(.expired, "the credential's time is over")
        case .nothing(.noKey(.interactionNotAllowed)):
            throw SharingChannelError(
                .locked, "the device is locked, and with it the key", hint: "unlock the device")
        case .nothing(.noKey(.missingEntitlement)):
            throw SharingChannelError(
                .missingEntitlement,
                "\(app.bundleIdentifier) is not entitled to the keychain group of the key")
        case .nothing(.noKey), .nothing(.unreadable):
            throw SharingChannelError(.failed, "the group's file or the key to it cannot be read")
        case .nothing(.damaged), .nothing(.missingField), .nothing(.otherVersion):
            throw SharingChannelError(.damaged, "what is in the group is no credential")
        }
    }

    /// Removes the state file.
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
