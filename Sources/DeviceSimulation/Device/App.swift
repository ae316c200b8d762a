/// An app as the device knows it, or an extension of one: its names and its entitlements.
package struct App: Sendable, Hashable {
    /// What runs: an app itself, or an extension that the system starts for it.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The app that the user sees; it brings its extensions with it.
        case application
        /// Hands out the app's files, in the background.
        case fileProvider
        /// Shows the app's part of the document picker.
        case fileProviderInterface

        /// Whether the system lets it use the pasteboard: what runs without a window of its own may not.
        package var mayUsePasteboard: Bool { self != .fileProvider }
    }

    /// The app's own name, such as `red.hound.keyshare.provider`.
    package var bundleIdentifier: String
    /// Its maker's name, ten letters and digits.
    package var teamIdentifier: String
    /// App or extension.
    package var kind: Kind
    /// What it may reach. An extension has its own entitlements and none of its app's.
    package var entitlements: Entitlements
    /// Of an extension, what its app may reach; nil for an app.
    package private(set) var hostEntitlements: Entitlements?

    /// An app with the given names and entitlements.
    package init(
        bundleIdentifier: String, teamIdentifier: String, kind: Kind = .application,
        entitlements: Entitlements
    ) {
        self.bundleIdentifier = bundleIdentifier
        self.kind = kind
        self.teamIdentifier = teamIdentifier
        self.entitlements = entitlements
    }

    /// The name by which the system knows the app: team, dot, bundle identifier.
    package var applicationIdentifier: String { "\(teamIdentifier).\(bundleIdentifier)" }

    /// The keychain groups that the app sees: those of its entitlements, its own, and those of its
    /// application groups. This is the order in which Apple's keychain takes them (`kSecAttrAccessGroup`).
    ///
    /// A group that the entitlements name without the team in front is not among them: no provisioning
    /// profile lets an app use it. `com.apple.token` is, and has no team.
    package var accessGroups: [String] {
        let named = entitlements.keychainAccessGroups.filter { $0 == Entitlements.tokenGroup || isOwn($0) }
        var seen: Set<String> = []
        return (named + [applicationIdentifier] + applicationGroups).filter { seen.insert($0).inserted }
    }

    /// Those of the groups that it sees to which it can add items, the default one first: the system alone
    /// adds to `com.apple.token`.
    package var writableAccessGroups: [String] { accessGroups.filter { $0 != Entitlements.tokenGroup } }

    /// The application groups that the app is of: those of its entitlements whose name an application group
    /// can have, which begins with `group.`, or with the team as on macOS.
    package var applicationGroups: [String] {
        entitlements.applicationGroups.filter { $0.hasPrefix("group.") || isOwn($0) }
    }

    private func isOwn(_ group: String) -> Bool { group.hasPrefix(teamIdentifier + ".") }

    /// An extension of this app.
    ///
    /// - Parameters:
    ///   - name: what its bundle identifier has behind the app's and a dot.
    ///   - entitlements: its own; nil for the same as the app's, as it should be for most.
    package func member(_ kind: Kind, name: String, entitlements: Entitlements? = nil) -> App {
        var member = App(
            bundleIdentifier: "\(bundleIdentifier).\(name)", teamIdentifier: teamIdentifier, kind: kind,
            entitlements: entitlements ?? self.entitlements)
        member.hostEntitlements = self.entitlements
        return member
    }

    /// The same extension where `host` is its app: as that app's entitlements are now. Any other app as it is.
    package func installed(with host: App) -> App {
        guard kind != .application, host.kind == .application, teamIdentifier == host.teamIdentifier,
            bundleIdentifier.hasPrefix(host.bundleIdentifier + ".")
        else { return self }
        var member = self
        member.hostEntitlements = host.entitlements
        return member
    }

    /// Says why the app is not of an application group that it asks for; nil where its entitlements, and its app's,
    /// simply do not name the group.
    package func gap(applicationGroup group: String) -> EntitlementGap? {
        if entitlements.applicationGroups.contains(group), !applicationGroups.contains(group) {
            return .noApplicationGroup
        }
        return forgotten(group, \.applicationGroups)
    }

    /// Says why the app may not use a keychain group that it asks for; nil where its entitlements, and its app's,
    /// simply do not name the group.
    package func gap(accessGroup group: String) -> EntitlementGap? {
        if group == Entitlements.tokenGroup, accessGroups.contains(group) { return .onlySystemAdds(group) }
        if entitlements.keychainAccessGroups.contains(group), !accessGroups.contains(group) {
            return .missingTeam("\(teamIdentifier).\(group)")
        }
        return forgotten(group, \.keychainAccessGroups) ?? gap(applicationGroup: group)
    }

    private func forgotten(
        _ group: String, _ groups: KeyPath<Entitlements, [String]>
    ) -> EntitlementGap? {
        guard let hostEntitlements, !entitlements[keyPath: groups].contains(group),
            hostEntitlements[keyPath: groups].contains(group)
        else { return nil }
        return .onlyItsApp
    }

    /// The provider: host app and extensions share one keychain group and one application group. A second
    /// keychain group holds the authorities that its test credentials come from, which are never published.
    package static let provider = App(
        bundleIdentifier: Identifier.provider, teamIdentifier: providerTeam,
        entitlements: Entitlements(
            keychainAccessGroups: [publishedGroup, authorityGroup], applicationGroups: [providerGroup]))

    private static let providerTeam = "PRVD000001"
    private static let consumerTeam = "CNSM000001"

    /// The provider's keychain group with the identities that it publishes and the password of its service.
    package static let publishedGroup = "\(providerTeam).\(Identifier.publishedGroup)"
    /// The provider's keychain group with its test PKI, which is never published.
    package static let authorityGroup = "\(providerTeam).\(Identifier.authorityGroup)"
    /// The application group of the provider's app and extensions.
    package static let providerGroup = Identifier.providerGroup

    /// The provider's extension that hands out its files.
    package static let providerFiles = provider.member(.fileProvider, name: "files")

    /// The provider's extension that shows its part of the document picker.
    package static let providerInterface = provider.member(.fileProviderInterface, name: "interface")

    /// The consumer: another team's app, with a keychain group of its own.
    package static let consumer = App(
        bundleIdentifier: Identifier.consumer, teamIdentifier: consumerTeam,
        entitlements: Entitlements(keychainAccessGroups: ["\(consumerTeam).\(Identifier.consumer)"]))

    /// What is installed on every device: the provider with its extensions, and the consumer.
    package static let installed = [provider, providerFiles, providerInterface, consumer]
}
