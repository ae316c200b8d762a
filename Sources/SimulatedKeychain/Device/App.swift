/// An app or an app's extension, with its names, its kind and its entitlements.
package struct App: Sendable, Hashable {
    /// The kinds of program: an app itself, or an extension that the system starts for the app.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The app that the user sees. Its installation also installs the extensions.
        case application
        /// A file provider (`NSFileProviderExtension`), which serves the app's files in the background.
        case fileProvider
        /// The part of a file provider that has a view and is shown in the document picker.
        case fileProviderInterface
        /// A token driver (`com.apple.ctk-tokens`), which uses the app's keys for other apps.
        case tokenExtension

        /// Whether the system allows this kind of program to use the pasteboard. Programs without a window are not
        /// allowed to.
        package var mayUsePasteboard: Bool { self == .application || self == .fileProviderInterface }
    }

    /// The name in reverse DNS notation, such as `red.hound.keyshare.provider` (`CFBundleIdentifier`).
    package var bundleIdentifier: String
    /// The developer team's identifier, ten letters and digits.
    package var teamIdentifier: String
    /// The kind of app or extension.
    package var kind: Kind
    /// The groups that the program may use. An extension has its own entitlements and inherits none.
    package var entitlements: Entitlements
    /// For an extension, the entitlements of its app, which serve to explain a missing entitlement; nil for an app.
    package private(set) var hostEntitlements: Entitlements?

    /// Creates an app with the given names and entitlements. Create extensions with
    /// ``member(_:name:entitlements:)``.
    package init(
        bundleIdentifier: String, teamIdentifier: String, kind: Kind = .application,
        entitlements: Entitlements
    ) {
        self.bundleIdentifier = bundleIdentifier
        self.kind = kind
        self.teamIdentifier = teamIdentifier
        self.entitlements = entitlements
    }

    /// The team identifier and the bundle identifier, separated by a dot. Together they identify the app.
    package var applicationIdentifier: String { "\(teamIdentifier).\(bundleIdentifier)" }

    /// The keychain access groups that the app sees: those of the entitlements, the application identifier, and the app
    /// groups. This is the order in which Apple's keychain searches (`kSecAttrAccessGroup`).
    ///
    /// A group in the entitlements without the team prefix is omitted, because no provisioning profile allows it.
    /// `com.apple.token`, which has no team prefix, is kept and comes last.
    package var accessGroups: [String] {
        let named = entitlements.keychainAccessGroups.filter(isOwn)
        let system = entitlements.mayUseTokens ? [Entitlements.tokenGroup] : []
        var seen: Set<String> = []
        return (named + [applicationIdentifier] + applicationGroups + system)
            .filter { seen.insert($0).inserted }
    }

    /// The access groups to which the app can add items, with the default group first. Only the system adds items to
    /// `com.apple.token`.
    package var writableAccessGroups: [String] { accessGroups.filter { $0 != Entitlements.tokenGroup } }

    /// The app groups of the app: those of the entitlements whose name begins with `group.`, or with the team's
    /// identifier as on macOS. Other names are not app groups.
    package var applicationGroups: [String] {
        entitlements.applicationGroups.filter { $0.hasPrefix("group.") || isOwn($0) }
    }

    private func isOwn(_ group: String) -> Bool { group.hasPrefix(teamIdentifier + ".") }

    /// Creates an extension of this app.
    ///
    /// - Parameters:
    ///   - kind: The purpose of the extension.
    ///   - name: The last part of the extension's bundle identifier, after the app's and a dot.
    ///   - entitlements: The extension's own entitlements; nil for those of the app.
    package func member(_ kind: Kind, name: String, entitlements: Entitlements? = nil) -> App {
        var member = App(
            bundleIdentifier: "\(bundleIdentifier).\(name)", teamIdentifier: teamIdentifier, kind: kind,
            entitlements: entitlements ?? self.entitlements)
        member.hostEntitlements = self.entitlements
        return member
    }

    /// Returns this extension with the current entitlements of `host` if `host` is its app; otherwise an unchanged
    /// copy.
    package func installed(with host: App) -> App {
        guard kind != .application, host.kind == .application, teamIdentifier == host.teamIdentifier,
            bundleIdentifier.hasPrefix(host.bundleIdentifier + ".")
        else { return self }
        var member = self
        member.hostEntitlements = host.entitlements
        return member
    }

    /// Returns the reason why the app is not in a requested app group; nil if neither its entitlements nor
    /// those of its app name the group.
    package func gap(applicationGroup group: String) -> EntitlementGap? {
        if entitlements.applicationGroups.contains(group), !applicationGroups.contains(group) {
            return .noApplicationGroup
        }
        return forgotten(group, \.applicationGroups)
    }

    /// Returns the mistake in the entitlements that prevents the app from using a keychain group; nil if neither its
    /// entitlements nor, for an extension, those of the app that contains it name the group.
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

    /// The provider's app. The app and its extensions share one keychain group and one app group. A second keychain
    /// group contains the authorities of the test credentials, which are never published. A third group contains the
    /// keys of the persistent token.
    package static let provider = App(
        bundleIdentifier: Identifier.provider, teamIdentifier: providerTeam,
        entitlements: Entitlements(
            keychainAccessGroups: [publishedGroup, authorityGroup, tokenGroup],
            applicationGroups: [providerGroup]))

    private static let providerTeam = "PRVD000001"
    private static let consumerTeam = "CNSM000001"

    /// The provider's keychain group with the identities that it publishes and the password of its service.
    package static let publishedGroup = "\(providerTeam).\(Identifier.publishedGroup)"
    /// The provider's keychain group with its test PKI, which is never published.
    package static let authorityGroup = "\(providerTeam).\(Identifier.authorityGroup)"
    /// The provider's keychain group with the keys and certificates of the persistent token.
    package static let tokenGroup = "\(providerTeam).\(Identifier.tokenGroup)"
    /// The app group of the provider's app and extensions.
    package static let providerGroup = Identifier.providerGroup

    /// The provider's file provider extension, which serves lists and files.
    package static let providerFiles = provider.member(.fileProvider, name: "files")

    /// The provider's user interface extension, which shows the legacy list and may use the pasteboard.
    package static let providerInterface = provider.member(.fileProviderInterface, name: "interface")

    /// The provider's token extension, which uses the keys of the persistent token for other apps.
    package static let providerToken = provider.member(
        .tokenExtension, name: "token", entitlements: Entitlements(keychainAccessGroups: [tokenGroup]))

    /// The consumer's app. It belongs to another team, has its own keychain group, and is entitled to persistent
    /// tokens.
    package static let consumer = App(
        bundleIdentifier: Identifier.consumer, teamIdentifier: consumerTeam,
        entitlements: Entitlements(
            keychainAccessGroups: ["\(consumerTeam).\(Identifier.consumer)", Entitlements.tokenGroup]))

    /// The apps and extensions that are installed on every device.
    package static let installed = [provider, providerFiles, providerInterface, providerToken, consumer]
}
