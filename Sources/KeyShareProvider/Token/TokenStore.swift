internal import DeviceSimulation
internal import Foundation
package import OpenSSL
package import PersistentToken
internal import SecretMemory
package import SimulatedKeychain

/// The registrations of the persistent token: the keychain items of the provider's token extension.
///
/// As in the sample provider, a registration is a certificate item and a key item in the extension's own keychain
/// group, both under the label of the identity. The key requires a passcode and does not leave the device
/// (`kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly`). Key sharing lists a different group, so an identity may be in
/// either group or in both.
package struct TokenStore: Sendable {
    /// The device states in which a token's key is accessible.
    package static let accessibility = Accessibility.whenPasscodeSetThisDeviceOnly

    let store: ProviderStore
    private let group = App.tokenGroup
    private var keychain: Keychain { store.keychain }
    private var device: Device { store.device }

    /// Creates a store for the registrations in a provider's keychain.
    package init(_ store: ProviderStore) {
        self.store = store
    }

    /// Returns a number that grows whenever any process registers or removes a token, or a key is deleted.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be read.
    package func changeCount() throws(KeychainError) -> Int64 { try keychain.changeCount(accessGroup: group) }

    /// Returns a watch on the change count, for a provider that checks the count at every key use.
    func watch(_ turn: WatchSnapshot) -> KeychainWatch {
        KeychainWatch(keychain, accessGroup: group, on: device, turn: turn)
    }

    /// Reads all registrations, in the order in which they were created.
    ///
    /// - Throws: `KeychainError`; `CertificateError` if OpenSSL rejects a certificate.
    package func registrations() throws -> [TokenRegistration] {
        let (certificates, keys) = try items()
        return try registrations(certificates, keys)
    }

    /// Reads the registration with a label; nil if there is none.
    ///
    /// - Throws: `KeychainError`; `CertificateError` if OpenSSL rejects the certificate.
    package func registration(_ label: String) throws -> TokenRegistration? {
        let (certificates, keys) = try items(label)
        return try registrations(certificates, keys).first
    }

    /// Opens the key of a registration.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` if the key does not exist, `.interactionNotAllowed` while the
    ///   device's state makes it inaccessible, `.decode` if the record was altered; `CertificateError` if OpenSSL
    ///   rejects the key.
    package func privateKey(_ label: String) throws -> PrivateKey {
        let query = KeychainQuery(.key, label: label, accessGroup: group)
        let found = try keychain.copyMatching(query, returnsData: true).first
        return try PrivateKey(pkcs8: found?.data ?? SecretBytes([]))
    }

    /// Registers an identity. An existing registration is replaced.
    ///
    /// - Parameters:
    ///   - certificate: The certificate.
    ///   - privateKey: Its key.
    ///   - rule: The rule that derives the key's properties from the certificate.
    /// - Throws: `KeychainError`: `.interactionNotAllowed` while the device is locked or has no passcode;
    ///   `OpenSSLError` if the key cannot be encoded.
    package func add(
        _ certificate: Certificate, _ privateKey: PrivateKey, rule: TokenKeyProperties.Rule
    ) throws {
        try add([try store.prepare(certificate, privateKey)], rule: rule)
    }

    /// Registers identities in one transaction. Existing registrations are replaced.
    ///
    /// - Parameters:
    ///   - identities: The identities, which need not be published.
    ///   - rule: The rule that derives the keys' properties from the certificates.
    /// - Throws: `KeychainError`: `.interactionNotAllowed` while the device is locked or has no passcode. Nothing is
    ///   registered in this case.
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
        announceChange()
    }

    /// Checks that the device's state permits the registration of tokens.
    ///
    /// - Throws: `KeychainError`: `.interactionNotAllowed` while the device is locked or has no passcode; `FileError`
    ///   if the state cannot be read.
    package func requireOpen() throws {
        try Keychain.check(Self.accessibility, isAvailableIn: device.state())
    }

    /// Removes the registration with a label. A published copy of the identity is not removed.
    ///
    /// - Returns: False if there was no registration.
    /// - Throws: `KeychainError` if the keychain cannot be written.
    package func remove(_ label: String) throws(KeychainError) -> Bool {
        try remove(items: { KeychainQuery($0, label: label, accessGroup: group) }) > 0
    }

    /// Removes all registrations.
    ///
    /// - Returns: The number of removed registrations.
    /// - Throws: `KeychainError` if the keychain cannot be written.
    package func removeAll() throws(KeychainError) -> Int {
        try remove(items: { KeychainQuery($0, accessGroup: group) })
    }

    /// Removes certificates and keys in one transaction, so that neither remains without the other.
    ///
    /// - Returns: The number of removed certificates.
    private func remove(items query: (ItemClass) -> KeychainQuery) throws(KeychainError) -> Int {
        let counts = try keychain.delete(each: [query(.certificate), query(.key)])
        if counts.contains(where: { $0 > 0 }) { announceChange() }
        return counts[0]
    }

    /// Repairs or removes incomplete registrations after a change of the whole keychain. Backups do not contain the
    /// keys of registrations, so a key is restored from the published identity with the same label. A certificate that
    /// remains without a key is removed, and so is a key without a certificate.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be read or written; `CertificateError`.
    package func reconcile() throws {
        let (certificates, keys) = try items()
        for registration in try registrations(certificates, keys) where !registration.hasKey {
            do {
                let identity = try store.identity(registration.label)
                try add(identity.certificate, identity.privateKey, rule: registration.rule)
            } catch {
                // The identity is not published, or the device's state does not permit adding a key.
                _ = try remove(registration.label)
            }
        }
        let labels = Set(certificates.map(\.attributes.label))
        for key in keys where !labels.contains(key.attributes.label) {
            _ = try remove(key.attributes.label)
        }
    }

    /// Notifies observers that tokens have changed. A notification that cannot be posted is not an error, because a
    /// provider also compares the keychain's change count at every request.
    package func announceChange() {
        try? Notifications(device: device).post(.tokensChanged)
    }

    private func registrations(
        _ certificates: [KeychainItem], _ keys: [KeychainItem]
    ) throws -> [TokenRegistration] {
        let labels = Set(keys.map(\.attributes.label))
        return try certificates.map { item in
            let rule = TokenKeyProperties.Rule(
                rawValue: String(decoding: item.attributes.applicationTag, as: UTF8.self))
            return TokenRegistration(
                label: item.attributes.label, certificate: try Certificate(der: item.certificate),
                rule: rule ?? .cryptoTokenKit, hasKey: labels.contains(item.attributes.label))
        }
    }

    /// Returns the items of all registrations, or of those with a label. Certificates and keys are read in one
    /// transaction, so that no registration seems incomplete while another process adds or removes it.
    func items(
        _ label: String? = nil
    ) throws(KeychainError) -> (certificates: [KeychainItem], keys: [KeychainItem]) {
        let found = try keychain.copyMatching(
            each: [ItemClass.certificate, .key].map { KeychainQuery($0, label: label, accessGroup: group) })
        return (found[0], found[1])
    }
}
