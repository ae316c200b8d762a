package import DeviceSimulation
internal import Diagnostics
package import SimulatedKeychain

/// The two apps that share a credential, and their device.
package struct ChannelEndpoints: Sendable {
    /// The device that both apps are installed on.
    package let device: Device
    /// The app that sends the credential.
    package let sender: App
    /// The app that the credential is meant for.
    package let receiver: App

    /// Creates the endpoints of a channel.
    package init(device: Device, sender: App, receiver: App) {
        self.device = device
        self.sender = sender
        self.receiver = receiver
    }

    /// Posts the notification that a credential was sent.
    ///
    /// The credential is already on the channel, so a failure to post is ignored.
    package func announce() {
        try? Notifications(device: device).post(.credentialSent)
    }

    /// Returns the first keychain group that both apps may write to. Application groups also count as keychain groups.
    ///
    /// - Throws: `SharingChannelError` `missingEntitlement` if the apps have no such group in common.
    func sharedKeychainGroup() throws(SharingChannelError) -> String {
        try shared(
            .keychain, \.writableAccessGroups, named: { $0.keychainAccessGroups + $0.applicationGroups })
    }

    /// Returns the first application group that both apps belong to.
    ///
    /// - Throws: `SharingChannelError` `missingEntitlement` if the apps have no application group in common.
    func sharedApplicationGroup() throws(SharingChannelError) -> String {
        try shared(.application, \.applicationGroups, named: \.applicationGroups)
    }

    private func shared(
        _ kind: MissingGroup.Kind, _ groups: KeyPath<App, [String]>, named: (Entitlements) -> [String]
    ) throws(SharingChannelError) -> String {
        // A group belongs to one team: Apple registers an application group for a team, and the name of a keychain
        // group begins with the team's identifier.
        let isOneTeam = sender.teamIdentifier == receiver.teamIdentifier
        let receivers = receiver[keyPath: groups]
        if isOneTeam, let group = sender[keyPath: groups].first(where: receivers.contains) { return group }
        // The groups are ordered: first those that only one of the apps names, then those that are invalid in an app's
        // own entitlements. The tokens' group comes last, because apps cannot share it.
        let named = [(receiver, sender), (sender, receiver), (sender, sender), (receiver, receiver)]
            .flatMap { app, other in named(other.entitlements).map { (app: app, group: $0) } }
        let isTokens = { (named: (app: App, group: String)) in named.group == Entitlements.tokenGroup }
        throw SharingChannelError(
            .missingEntitlement,
            "\(sender.bundleIdentifier) and \(receiver.bundleIdentifier) have no common \(kind) group",
            missingGroup: MissingGroup(
                kind: kind, isOneTeam: isOneTeam,
                gaps: (named.filter { !isTokens($0) } + named.filter(isTokens)).compactMap { app, group in
                    switch kind {
                    case .keychain: app.gap(accessGroup: group)?.description
                    case .application: app.gap(applicationGroup: group)?.description
                    }
                }))
    }
}
