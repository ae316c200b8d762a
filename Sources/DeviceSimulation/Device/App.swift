/// What an app may reach beyond its own: the entitlements that its signature carries.
package struct Entitlements: Sendable, Hashable {
    /// `keychain-access-groups`: key-chain groups, each with a team identifier in front. The first is where
    /// items go that name no group.
    package var keychainAccessGroups: [String]
    /// `com.apple.security.application-groups`: groups of apps that share a container.
    package var applicationGroups: [String]

    /// Entitlements to the given groups.
    package init(keychainAccessGroups: [String] = [], applicationGroups: [String] = []) {
        self.keychainAccessGroups = keychainAccessGroups
        self.applicationGroups = applicationGroups
    }
}

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
    /// What it may reach.
    package var entitlements: Entitlements

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

    /// The key-chain groups that the app sees, the default one first: those of its entitlements, its own,
    /// and those of its application groups. This is the order in which Apple's key chain takes them.
    package var accessGroups: [String] {
        var seen: Set<String> = []
        return (entitlements.keychainAccessGroups + [applicationIdentifier] + entitlements.applicationGroups)
            .filter { seen.insert($0).inserted }
    }

    /// The provider: host app and extensions share one key-chain group and one application group. A second
    /// key-chain group holds the authorities that its test credentials come from, which are never published.
    package static let provider = App(
        bundleIdentifier: "red.hound.keyshare.provider", teamIdentifier: "PRVD000001",
        entitlements: Entitlements(
            keychainAccessGroups: [
                "PRVD000001.red.hound.keyshare.shared", "PRVD000001.red.hound.keyshare.authorities",
            ],
            applicationGroups: ["group.red.hound.keyshare.provider"]))

    /// The consumer: another team's app, with a key-chain group of its own.
    package static let consumer = App(
        bundleIdentifier: "red.hound.keyshare.consumer", teamIdentifier: "CNSM000001",
        entitlements: Entitlements(keychainAccessGroups: ["CNSM000001.red.hound.keyshare.consumer"]))
}
