package import SimulatedKeychain

/// Two apps of one team that share a keychain group and an app group. The receiver may use tokens.
package enum Pair {
    /// The groups of both apps.
    package static let groups = Entitlements(
        keychainAccessGroups: ["TEAM000001.shared"], applicationGroups: ["group.example.shared"])
    /// The app that sends the credential.
    package static let sender = App(
        bundleIdentifier: "example.sender", teamIdentifier: "TEAM000001", entitlements: groups)
    /// The app that receives the credential.
    package static let receiver = App(
        bundleIdentifier: "example.receiver", teamIdentifier: "TEAM000001",
        entitlements: Entitlements(
            keychainAccessGroups: groups.keychainAccessGroups + [Entitlements.tokenGroup],
            applicationGroups: groups.applicationGroups))
}
