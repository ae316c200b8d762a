package import SecretMemory

/// The class of an item (`kSecClass`). The raw values are those of Apple's constants.
package enum ItemClass: String, Sendable, Hashable, CaseIterable {
    /// A certificate with its private key.
    case identity = "idnt"
    /// A secret that is identified by a service and an account.
    case genericPassword = "genp"
    /// A secret that is identified by a server and an account.
    case internetPassword = "inet"
    /// A certificate without its key.
    case certificate = "cert"
    /// A key without its certificate.
    case key = "keys"
}

/// The server of an internet password: the parts of a URL before the query.
package struct InternetServer: Sendable, Hashable, CustomStringConvertible {
    /// The scheme, such as `https` (`kSecAttrProtocol`).
    package var scheme: String
    /// The host's name or address (`kSecAttrServer`).
    package var host: String
    /// The port; nil for the scheme's default (`kSecAttrPort`).
    package var port: UInt16?
    /// The path on the server, with a leading slash, or empty (`kSecAttrPath`).
    package var path: String

    /// Creates a server. The default scheme is `https`.
    package init(scheme: String = "https", host: String, port: UInt16? = nil, path: String = "") {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
    }

    /// The server as the beginning of a URL, which is the stored form.
    package var description: String { "\(scheme)://\(host)\(port.map { ":\($0)" } ?? "")\(path)" }
}

/// The attributes that distinguish an item from others of its class and group, and that searches can use.
package struct KeychainAttributes: Sendable, Hashable {
    /// The label for users (`kSecAttrLabel`). It is unique for a certificate or an identity. For a key, the label and
    /// the tag together are unique.
    package var label = ""
    /// The service of a password (`kSecAttrService`), or the description of an ``InternetServer``.
    package var service = ""
    /// The account at the service (`kSecAttrAccount`).
    package var account = ""
    /// Bytes chosen by the app (`kSecAttrApplicationTag`).
    package var applicationTag: [UInt8] = []

    /// Creates attributes; the defaults are empty.
    package init(label: String = "", service: String = "", account: String = "", applicationTag: [UInt8] = [])
    {
        self.label = label
        self.service = service
        self.account = account
        self.applicationTag = applicationTag
    }
}

/// An item to add to the keychain. Identities, which also have a date, are added as ``NewIdentity``.
package struct NewItem: Sendable {
    let itemClass: ItemClass
    let attributes: KeychainAttributes
    let secret: SecretBytes
    var certificate: [UInt8] = []
    /// When the secret may be read.
    package var accessibility = Accessibility.whenUnlocked
    /// The access group of the item; nil for the app's default.
    package var accessGroup: String?

    /// Creates a generic password: a secret with a service and an account.
    package static func genericPassword(
        _ secret: SecretBytes, service: String, account: String, label: String = ""
    ) -> NewItem {
        NewItem(
            itemClass: .genericPassword,
            attributes: KeychainAttributes(label: label, service: service, account: account), secret: secret)
    }

    /// Creates an internet password: a secret with a server and an account.
    package static func internetPassword(
        _ secret: SecretBytes, server: InternetServer, account: String, label: String = ""
    ) -> NewItem {
        NewItem(
            itemClass: .internetPassword,
            attributes: KeychainAttributes(label: label, service: server.description, account: account),
            secret: secret)
    }

    /// Creates a certificate item from DER. The certificate is public, so its data may be read in any state.
    package static func certificate(
        _ certificate: [UInt8], label: String, applicationTag: [UInt8] = []
    ) -> NewItem {
        NewItem(
            itemClass: .certificate,
            attributes: KeychainAttributes(label: label, applicationTag: applicationTag),
            secret: SecretBytes([]), certificate: certificate, accessibility: .always)
    }

    /// Creates a key item without a certificate.
    package static func key(
        _ secret: SecretBytes, label: String, applicationTag: [UInt8] = []
    ) -> NewItem {
        NewItem(
            itemClass: .key, attributes: KeychainAttributes(label: label, applicationTag: applicationTag),
            secret: secret)
    }

    /// Returns this item with a different accessibility or group. Nil keeps the current value.
    package func with(accessibility: Accessibility? = nil, accessGroup: String? = nil) -> NewItem {
        var item = self
        item.accessibility = accessibility ?? item.accessibility
        item.accessGroup = accessGroup ?? item.accessGroup
        return item
    }
}

/// A query for items of one class: an item matches if it has every attribute that is not nil.
package struct KeychainQuery: Sendable, Hashable {
    /// The class in which to search.
    package var itemClass: ItemClass
    /// The item's reference from an earlier result.
    package var reference: Int64?
    /// The label to match.
    package var label: String?
    /// The service to match.
    package var service: String?
    /// The account to match.
    package var account: String?
    /// The tag to match.
    package var applicationTag: [UInt8]?
    /// The accessibility to match.
    package var accessibility: Accessibility?
    /// The access group to search; nil for all of the app's groups.
    package var accessGroup: String?

    /// Creates a query for the items of a class with the given attributes.
    package init(
        _ itemClass: ItemClass, reference: Int64? = nil, label: String? = nil, service: String? = nil,
        account: String? = nil, applicationTag: [UInt8]? = nil, accessibility: Accessibility? = nil,
        accessGroup: String? = nil
    ) {
        self.itemClass = itemClass
        self.reference = reference
        self.label = label
        self.service = service
        self.account = account
        self.applicationTag = applicationTag
        self.accessibility = accessibility
        self.accessGroup = accessGroup
    }
}

/// A change to items: the new values of their attributes. Nil keeps the current value.
package struct KeychainChange: Sendable {
    /// The new label.
    package var label: String?
    /// The new service.
    package var service: String?
    /// The new account.
    package var account: String?
    /// The new value of `kSecAttrApplicationTag`.
    package var applicationTag: [UInt8]?
    /// The new accessibility.
    package var accessibility: Accessibility?
    /// The new access group.
    package var accessGroup: String?
    /// The new secret. An item with a new secret gets a new reference.
    package var data: SecretBytes?

    /// Creates a change to the given attributes.
    package init(
        label: String? = nil, service: String? = nil, account: String? = nil,
        applicationTag: [UInt8]? = nil, accessibility: Accessibility? = nil, accessGroup: String? = nil,
        data: SecretBytes? = nil
    ) {
        self.label = label
        self.service = service
        self.account = account
        self.applicationTag = applicationTag
        self.accessibility = accessibility
        self.accessGroup = accessGroup
        self.data = data
    }
}

/// An item in the result of a query.
package struct KeychainItem: Sendable {
    /// A number that identifies the item in later queries until the secret changes (`kSecValuePersistentRef`).
    package let reference: Int64
    /// The item's class.
    package let itemClass: ItemClass
    /// The searchable attributes.
    package let attributes: KeychainAttributes
    /// When the secret may be read.
    package let accessibility: Accessibility
    /// The access group that holds the item.
    package let accessGroup: String
    /// The DER of the certificate, for a certificate or an identity; empty for other classes.
    package let certificate: [UInt8]
    /// The secret; nil if it was not requested, and empty for a certificate.
    package let data: SecretBytes?
}
