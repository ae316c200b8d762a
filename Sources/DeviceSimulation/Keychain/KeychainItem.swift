package import SecretMemory

/// What kind of thing an item is (`kSecClass`), with Apple's values.
package enum ItemClass: String, Sendable, Hashable, CaseIterable {
    /// A certificate with its private key.
    case identity = "idnt"
    /// A secret under a service and an account.
    case genericPassword = "genp"
    /// A secret under a server and an account.
    case internetPassword = "inet"
    /// A certificate without its key.
    case certificate = "cert"
    /// A key without its certificate.
    case key = "keys"
}

/// A server as an internet password names it: what stands in a URL before the query.
package struct InternetServer: Sendable, Hashable, CustomStringConvertible {
    /// How it is spoken to, such as `https`.
    package var scheme: String
    /// Its name or address.
    package var host: String
    /// Its port; nil for the scheme's own.
    package var port: UInt16?
    /// Where on it, with a slash in front, or empty.
    package var path: String

    /// A server with the given names.
    package init(scheme: String = "https", host: String, port: UInt16? = nil, path: String = "") {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
    }

    /// The same as the start of a URL.
    package var description: String { "\(scheme)://\(host)\(port.map { ":\($0)" } ?? "")\(path)" }
}

/// What names an item within its class and group, and can be searched for.
package struct KeychainAttributes: Sendable, Hashable {
    /// What people call it. Names a certificate, an identity, and with the tag a key.
    package var label = ""
    /// What a password is for: a service, or a server as `InternetServer` describes it.
    package var service = ""
    /// Whose password it is.
    package var account = ""
    /// The app's own mark.
    package var applicationTag: [UInt8] = []

    /// Attributes with the given values.
    package init(label: String = "", service: String = "", account: String = "", applicationTag: [UInt8] = [])
    {
        self.label = label
        self.service = service
        self.account = account
        self.applicationTag = applicationTag
    }
}

/// An item to add to the keychain. Identities, which have a date as well, are added as `NewIdentity`.
package struct NewItem: Sendable {
    let itemClass: ItemClass
    let attributes: KeychainAttributes
    let secret: SecretBytes
    var certificate: [UInt8] = []
    /// When it may be read.
    package var accessibility = Accessibility.whenUnlocked
    /// Where it goes; nil for the app's default group.
    package var accessGroup: String?

    /// A secret under a service and an account.
    package static func genericPassword(
        _ secret: SecretBytes, service: String, account: String, label: String = ""
    ) -> NewItem {
        NewItem(
            itemClass: .genericPassword,
            attributes: KeychainAttributes(label: label, service: service, account: account), secret: secret)
    }

    /// A secret under a server and an account.
    package static func internetPassword(
        _ secret: SecretBytes, server: InternetServer, account: String, label: String = ""
    ) -> NewItem {
        NewItem(
            itemClass: .internetPassword,
            attributes: KeychainAttributes(label: label, service: server.description, account: account),
            secret: secret)
    }

    /// A certificate, DER; its data may be read in any state of the device, being public.
    package static func certificate(_ certificate: [UInt8], label: String) -> NewItem {
        NewItem(
            itemClass: .certificate, attributes: KeychainAttributes(label: label), secret: SecretBytes([]),
            certificate: certificate, accessibility: .always)
    }

    /// A key.
    package static func key(
        _ secret: SecretBytes, label: String, applicationTag: [UInt8] = []
    ) -> NewItem {
        NewItem(
            itemClass: .key, attributes: KeychainAttributes(label: label, applicationTag: applicationTag),
            secret: secret)
    }

    /// This item with another accessibility or group.
    package func with(accessibility: Accessibility? = nil, accessGroup: String? = nil) -> NewItem {
        var item = self
        item.accessibility = accessibility ?? item.accessibility
        item.accessGroup = accessGroup ?? item.accessGroup
        return item
    }
}

/// Which items of the keychain are meant: those that have everything that is named here.
package struct KeychainQuery: Sendable, Hashable {
    /// Of what class.
    package var itemClass: ItemClass
    /// With this reference, as an earlier answer gave it.
    package var reference: Int64?
    /// With this label.
    package var label: String?
    /// With this service.
    package var service: String?
    /// With this account.
    package var account: String?
    /// With this tag.
    package var applicationTag: [UInt8]?
    /// Of this accessibility.
    package var accessibility: Accessibility?
    /// In this group; nil for all of the app's.
    package var accessGroup: String?

    /// All items of a class, or those with what is named.
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

/// What to change of an item; what is nil stays.
package struct KeychainChange: Sendable {
    /// Another label.
    package var label: String?
    /// Another service.
    package var service: String?
    /// Another account.
    package var account: String?
    /// Another tag.
    package var applicationTag: [UInt8]?
    /// Another accessibility.
    package var accessibility: Accessibility?
    /// Another group.
    package var accessGroup: String?
    /// Another secret.
    package var data: SecretBytes?

    /// A change of what is named.
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

/// An item that was found.
package struct KeychainItem: Sendable {
    /// Names the item in later queries, until its secret changes.
    package let reference: Int64
    /// Of what class it is.
    package let itemClass: ItemClass
    /// Its names.
    package let attributes: KeychainAttributes
    /// When its secret may be read.
    package let accessibility: Accessibility
    /// The group it is in.
    package let accessGroup: String
    /// The certificate of a certificate or an identity, DER; empty otherwise.
    package let certificate: [UInt8]
    /// The secret, where it was asked for; of a certificate nothing.
    package let data: SecretBytes?
}
