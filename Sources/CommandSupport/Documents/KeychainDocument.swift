package import DeviceSimulation

/// The JSON document of `keyshare-device keychain`, which holds no secret.
package struct KeychainDocument: Codable, Sendable {
    /// One item as one app sees it.
    package struct Item: Codable, Sendable {
        /// The bundle identifier of the app.
        package let app: String
        /// The class of the item (Apple's `kSecClass`).
        package let `class`: String
        /// The label, service and account of the item, as far as it has them.
        package let name: String
        /// The group that holds the item.
        package let accessGroup: String
        /// When the item can be used (`kSecAttrAccessible`).
        package let accessible: String
        /// Whether the item can be used in the state that the device is in.
        package let isOpen: Bool

        /// Describes an item.
        package init(_ item: KeychainItem, of app: App, in state: DeviceState) {
            self.app = app.bundleIdentifier
            self.class = item.itemClass.rawValue
            let names = [item.attributes.label, item.attributes.service, item.attributes.account]
            name = names.filter { !$0.isEmpty }.joined(separator: " ")
            accessGroup = item.accessGroup
            accessible = item.accessibility.name
            isOpen = item.accessibility.isAvailable(in: state)
        }

        /// Describes the identity of a token as an app sees it that may use tokens.
        ///
        /// - Parameters:
        ///   - certificate: the certificate in the keychain of the token extension.
        ///   - key: the key there; nil where it is gone, so that the identity can never be used.
        ///   - app: the app that sees it.
        ///   - state: the state of the device.
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

    /// The items, by app and class.
    package let items: [Item]

    /// Describes items.
    package init(_ items: [Item]) {
        self.items = items
    }
}
