package import DeviceSimulation

/// Two apps of one team that share a keychain group and an application group.
package enum Pair {
    package static let groups = Entitlements(
        keychainAccessGroups: ["TEAM000001.shared"], applicationGroups: ["group.example.shared"])
    package static let sender = App(
        bundleIdentifier: "example.sender", teamIdentifier: "TEAM000001", entitlements: groups)
    package static let receiver = App(
        bundleIdentifier: "example.receiver", teamIdentifier: "TEAM000001", entitlements: groups)
}
