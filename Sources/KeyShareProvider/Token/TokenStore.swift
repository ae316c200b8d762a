package import DeviceSimulation
internal import Foundation
package import OpenSSL
package import PersistentToken
internal import SecretMemory

/// The registrations of the persistent token: the keychain items of the provider's token extension.
///
/// As in the sample provider, a registration is a certificate item and a key item in the extension's own keychain
/// group, both under the label of the identity. The key asks for a passcode and does not leave the device
/// (`kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly`). Key sharing lists what is in another group, so that an
/// identity may be in either, or in both.
package struct TokenStore: Sendable {
    /// When a token's key may be read.
    package static let accessibility = Accessibility.whenPasscodeSetThisDeviceOnly

    let store: ProviderStore
    private let group = App.tokenGroup
    private var keychain: Keychain { store.keychain }
    private var device: Device { store.device }

    /// The registrations in a provider's keychain.
    package init(_ store: ProviderStore) {
        self.store = store
    }

    /// A number that grows whenever any process registers or removes a token, or a key goes.
    ///
    /// - Throws: `KeychainError` where the keychain cannot be read.
    package func changeCount() throws(KeychainError) -> Int64 { try keychain.changeCount(accessGroup: group) }

    /// Watches that number, for a provider that looks at every use.
    func watch(_ turn: LookTurn) -> KeychainWatch {
        KeychainWatch(keychain, accessGroup: group, on: device, turn: turn)
    }

    /// Reads all registrations, in the order in which they were made.
    ///
    /// - Throws: `KeychainError`; `CertificateError` where OpenSSL refuses a certificate.
    package func registrations() throws -> [TokenRegistration] {
        let keys = Set(try items(KeychainQuery(.key, accessGroup: group)).map(\.attributes.label))
        return try items(KeychainQuery(.certificate, accessGroup: group)).map { item in
            try registration(item, hasKey: keys.contains(item.attributes.label))
        }
    }

    /// Reads the registration of a label; nil where there is none.
    ///
    /// - Throws: `KeychainError`; `CertificateError` where OpenSSL refuses the certificate.
    package func registration(_ label: String) throws -> TokenRegistration? {
        guard let item = try items(KeychainQuery(.certificate, label: label, accessGroup: group)).first else {
            return nil
        }
        let keys = try items(KeychainQuery(.key, label: label, accessGroup: group))
        return try registration(item, hasKey: !keys.isEmpty)
    }

    /// Opens the key of a registration.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` where there is none, `.interactionNotAllowed` while the device's
    ///   state keeps it closed, `.decode` where the record was altered; `CertificateError` where OpenSSL refuses it.
    package func privateKey(_ label: String) throws -> PrivateKey {
        let query = KeychainQuery(.key, label: label, accessGroup: group)
        let found = try keychain.copyMatching(query, returnsData: true).first
        return try PrivateKey(pkcs8: found?.data ?? SecretBytes([]))
    }

    /// Registers an identity; a registration that is there already is replaced.
    ///
    /// - Parameters:
    ///   - certificate: the certificate.
    ///   - privateKey: its key.
    ///   - rule: how the key's properties follow from the certificate.
    /// - Throws: `KeychainError`: `.interactionNotAllowed` while the device is locked or has no passcode;
    ///   `OpenSSLError` where the key cannot be encoded.
    package func add(
        _ certificate: Certificate, _ privateKey: PrivateKey, rule: TokenKeyProperties.Rule
    ) throws {
        try add([try store.prepare(certificate, privateKey)], rule: rule)
    }

    /// Registers identities in one transaction; registrations that are there already are replaced.
    ///
    /// - Parameters:
    ///   - identities: the identities, which need not be published.
    ///   - rule: how the keys' properties follow from the certificates.
    /// - Throws: `KeychainError`: `.interactionNotAllowed` while the device is locked or has no passcode. Nothing is
    ///   registered then.
    package func add(
        _ identities: [ProviderStore.PreparedIdentity], rule: TokenKeyProperties.Rule
    ) throws(KeychainError) {
        guard !identities.isEmpty else { return }
        try keychain.replace(
            identities.map(\.identity).flatMap { identity in
                [
                    NewItem.key(identity.privateKey, label: identity.label)
                        .with(accessibility: Self.accessibility, accessGroup: group),
                    NewItem.certificate(
                        identity.certificate, label: identity.label, applicationTag: Array(rule.rawValue.utf8)
                    ).with(accessGroup: group),
                ]
            })
        tellOfChange()
    }

    /// Refuses where the device's state lets nobody register a token.
    ///
    /// - Throws: `KeychainError`: `.interactionNotAllowed` while the device is locked or has no passcode; `FileError`
    ///   where the state cannot be read.
    package func requireOpen() throws {
        try Keychain.check(Self.accessibility, isAvailableIn: device.state())
    }

    /// Removes the registration of a label. The identity stays where else it is.
    ///
    /// - Returns: false where there was none.
    /// - Throws: `KeychainError` where the keychain cannot be written.
    package func remove(_ label: String) throws(KeychainError) -> Bool {
        try remove(items: { KeychainQuery($0, label: label, accessGroup: group) }) > 0
    }

    /// Removes all registrations.
    ///
    /// - Returns: how many there were.
    /// - Throws: `KeychainError` where the keychain cannot be written.
    package func removeAll() throws(KeychainError) -> Int {
        try remove(items: { KeychainQuery($0, accessGroup: group) })
    }

    /// Removes certificates and keys in one transaction, so that neither is left without the other.
    ///
    /// - Returns: how many certificates there were.
    private func remove(items query: (ItemClass) -> KeychainQuery) throws(KeychainError) -> Int {
        let counts = try keychain.delete(each: [query(.certificate), query(.key)])
        if counts.contains(where: { $0 > 0 }) { tellOfChange() }
        return counts[0]
    }

    /// Ends or mends what a change of the keychain as a whole has left of registrations. No backup holds their keys: a
    /// key comes again from the published identity of its label. A certificate without a key goes, and so does a key
    /// without a certificate.
    ///
    /// - Throws: `KeychainError` where the keychain cannot be read or written; `CertificateError`.
    package func reconcile() throws {
        var labels: Set<String> = []
        for registration in try registrations() {
            labels.insert(registration.label)
            guard !registration.hasKey else { continue }
            do {
                let identity = try store.identity(registration.label)
                try add(identity.certificate, identity.privateKey, rule: registration.rule)
            } catch {
                // The identity is not published, or no key may be added in the device's state.
                _ = try remove(registration.label)
            }
        }
        for key in try items(KeychainQuery(.key, accessGroup: group))
        where !labels.contains(key.attributes.label) {
            _ = try remove(key.attributes.label)
        }
    }

    /// Tells observers that tokens have changed. A notification that cannot be posted is not an error: a provider
    /// also compares the keychain's change count at every request.
    package func tellOfChange() {
        try? Notifications(device: device).post(.tokensChanged)
    }

    private func registration(_ item: KeychainItem, hasKey: Bool) throws -> TokenRegistration {
        let rule = TokenKeyProperties.Rule(
            rawValue: String(decoding: item.attributes.applicationTag, as: UTF8.self))
        return TokenRegistration(
            label: item.attributes.label, certificate: try Certificate(der: item.certificate),
            rule: rule ?? .cryptoTokenKit, hasKey: hasKey)
    }

    /// All items that match; none is no error.
    func items(_ query: KeychainQuery) throws(KeychainError) -> [KeychainItem] {
        do throws(KeychainError) {
            return try keychain.copyMatching(query, limit: .max)
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return []
        }
    }
}
