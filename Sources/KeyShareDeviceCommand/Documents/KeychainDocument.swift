internal import DeviceSimulation
package import SimulatedKeychain

/// The JSON document of `keyshare-device keychain`. It contains no secrets.
package struct KeychainDocument: Codable, Sendable {
    /// An item that an app can see.
    package struct Item: Codable, Sendable {
        /// The bundle identifier of the app.
        package let app: String
        /// The class of the item (Apple's `kSecClass`).
        package let `class`: String
        /// The label, service and account of the item, without those that it lacks.
        package let name: String
        /// The group that contains the item.
        package let accessGroup: String
        /// The device states in which the item can be used (`kSecAttrAccessible`).
        package let accessible: String
        /// Whether the item can be used in the current state of the device.
        package let isOpen: Bool

        /// Creates the entry for `item` as `app` sees it while the device is in `state`, without the secret.
        package init(_ item: KeychainItem, of app: App, in state: DeviceState) {
            self.app = app.bundleIdentifier
            self.class = item.itemClass.rawValue
            let names = [item.attributes.label, item.attributes.service, item.attributes.account]
            name = names.filter { !$0.isEmpty }.joined(separator: " ")
            accessGroup = item.accessGroup
            accessible = item.accessibility.name
            isOpen = item.accessibility.isAvailable(in: state)
        }

        /// Creates the entry for a token's identity, as seen by an app that may use tokens.
        ///
        /// - Parameters:
        ///   - certificate: The certificate in the keychain of the token extension.
        ///   - key: The key in that keychain; nil if it was deleted, so that the identity cannot be used.
        ///   - app: The app that sees the identity.
        ///   - state: The state of the device.
        package init(
            token certificate: KeychainItem, key: KeychainItem?, of app: App, in state: DeviceState
        ) {
            self.app = app.bundleIdentifier
            self.class = ItemClass.identity.rawValue
            name = certificate.attributes.label
            accessGroup = Entitlements.tokenGroup
            accessible = (key?.accessibility ?? .whenPasscodeSetThisDeviceOnly).name
            isOpen = key?.accessibility.isAvailable(in: state) ?? false
        }
    }

    /// The items, grouped by app and then by class.
    package let items: [Item]

    /// Creates the document from its entries.
    package init(_ items: [Item]) {
        self.items = items
    }
}
