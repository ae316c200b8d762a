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

    private let keychain: Keychain
    private let device: Device
    private let group = App.tokenGroup

    /// The registrations in a provider's keychain.
    package init(_ store: ProviderStore) {
        keychain = store.keychain
        device = store.device
    }

    /// A number that grows whenever any process registers or removes a token, or a key goes.
    ///
    /// - Throws: `KeychainError` where the keychain cannot be read.
    package func changeCount() throws(KeychainError) -> Int64 { try keychain.changeCount(accessGroup: group) }

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
        let label = certificate.label
        // The key comes first: an interruption leaves a key that nothing lists, and no token without a key.
        do {
            let key = NewItem.key(try privateKey.pkcs8(), label: label)
            try keychain.add(key.with(accessibility: Self.accessibility, accessGroup: group))
        } catch let error as KeychainError where error.code == .duplicateItem {
            // The label is the certificate's digest, so the key is the one that is there.
        }
        let tag = Array(rule.rawValue.utf8)
        do throws(KeychainError) {
            let item = NewItem.certificate(certificate.der, label: label, applicationTag: tag)
            try keychain.add(item.with(accessGroup: group))
        } catch {
            guard error.code == .duplicateItem else { throw error }
            try keychain.update(
                KeychainQuery(.certificate, label: label, accessGroup: group),
                KeychainChange(applicationTag: tag))
        }
        tellOfChange()
    }

    /// Removes the registration of a label. The identity stays where else it is.
    ///
    /// - Returns: false where there was none.
    /// - Throws: `KeychainError` where the keychain cannot be written.
    package func remove(_ label: String) throws(KeychainError) -> Bool {
        // The certificate goes first: without it the token is gone, whatever comes between.
        let removed = try delete(KeychainQuery(.certificate, label: label, accessGroup: group))
        let keys = try delete(KeychainQuery(.key, label: label, accessGroup: group))
        if removed + keys > 0 { tellOfChange() }
        return removed > 0
    }

    /// Removes all registrations.
    ///
    /// - Returns: how many there were.
    /// - Throws: `KeychainError` where the keychain cannot be written.
    package func removeAll() throws(KeychainError) -> Int {
        let removed = try delete(KeychainQuery(.certificate, accessGroup: group))
        let keys = try delete(KeychainQuery(.key, accessGroup: group))
        if removed + keys > 0 { tellOfChange() }
        return removed
    }

    /// Ends or mends the registrations that have lost their keys, which no backup holds: a key comes again from the
    /// published identity of its label, and a registration without one goes.
    ///
    /// - Throws: `KeychainError` where the keychain cannot be read or written; `CertificateError`.
    func reconcile(with store: ProviderStore) throws {
        for registration in try registrations() where !registration.hasKey {
            do {
                let identity = try store.identity(registration.label)
                try add(identity.certificate, identity.privateKey, rule: registration.rule)
            } catch {
                // The identity is not published, or no key may be added in the device's state.
                _ = try remove(registration.label)
            }
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
    private func items(_ query: KeychainQuery) throws(KeychainError) -> [KeychainItem] {
        do throws(KeychainError) {
            return try keychain.copyMatching(query, limit: .max)
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return []
        }
    }

    /// Deletes all items that match, and says how many there were.
    private func delete(_ query: KeychainQuery) throws(KeychainError) -> Int {
        do throws(KeychainError) {
            return try keychain.delete(query)
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return 0
        }
    }
}
