internal import CertificateReading
package import DeviceSimulation
package import KeySharing
package import OpenSSL
internal import PersistentToken
internal import SecretMemory
package import SimulatedKeychain

/// The provider's part of the device's keychain: identities, the service password, and the authorities of the test PKI.
/// The authorities have a separate access group, so that they are never published (docs/rules.md R8.7).
package struct ProviderStore: Sendable {
    /// The device's keychain, with the access rights of the provider's app.
    package let keychain: Keychain
    /// The device that contains the keychain.
    package let device: Device
    /// The access group of published items: identities and the service password (docs/rules.md R8.1).
    package let sharedGroup = App.publishedGroup

    /// Opens the keychain, and creates it on first use.
    ///
    /// - Throws: `KeychainError`.
    package init(_ device: Device) throws(KeychainError) {
        keychain = try Keychain(device: device, app: .provider)
        self.device = device
    }

    /// Opens the keychain without creating or changing anything; nil if the device has no keychain.
    ///
    /// - Throws: `KeychainError`.
    package init?(existingOn device: Device) throws(KeychainError) {
        guard let keychain = try Keychain(existingOn: device, app: .provider) else { return nil }
        self.keychain = keychain
        self.device = device
    }

    /// Returns a number that grows whenever any process adds or removes an identity or changes the service password.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be read.
    package func changeCount() throws(KeychainError) -> Int64 {
        try keychain.changeCount(accessGroup: sharedGroup)
    }

    /// Reads all identities, in no particular order.
    ///
    /// - Throws: `KeychainError`; `CertificateError` for an unreadable certificate without a stored summary.
    package func identities() throws -> [IdentitySummary] {
        try identities(after: nil).identities
    }

    /// Reads the identities that were added since an earlier read, in no particular order. Reads all identities if
    /// there was no earlier read, or if an identity was removed or changed since then.
    ///
    /// - Parameter earlier: The result of the earlier read; nil to read all identities.
    /// - Returns: The identities, and the state of this read for the next call. `reading.isContinuation` is true if the
    ///   identities are only those added since the earlier read.
    /// - Throws: `KeychainError`; `CertificateError` for an unreadable certificate without a stored summary.
    package func identities(
        after earlier: IdentityReading?
    ) throws -> (identities: [IdentitySummary], reading: IdentityReading) {
        let (attributes, reading) = try keychain.identityAttributes(accessGroup: sharedGroup, after: earlier)
        let identities = try attributes.map { attributes in
            let summary = IdentitySummary(
                label: attributes.label, notBefore: attributes.notBefore, tag: attributes.applicationTag)
            if let summary, summary.details != nil { return summary }
            do {
                return IdentitySummary(try certificate(attributes.label))
            } catch {
                // If the certificate cannot be read, a summary that an earlier version stored is sufficient. Only the
                // owner is unknown then.
                guard let summary else { throw error }
                return summary
            }
        }
        return (identities, reading)
    }

    /// Opens the identity with `label`: its certificate and private key.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` if it does not exist, `.decode` if the record was altered,
    ///   `.interactionNotAllowed` while the device's state makes keys inaccessible; `CertificateError` if OpenSSL
    ///   rejects the certificate or key.
    package func identity(_ label: String) throws -> (certificate: Certificate, privateKey: PrivateKey) {
        let opened = try keychain.openIdentity(label: label, accessGroup: sharedGroup)
        return (try Certificate(der: opened.record.certificate), try PrivateKey(pkcs8: opened.privateKey))
    }

    /// Reads the certificate of the identity with `label`, without opening its key.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` if it does not exist; `CertificateError` if OpenSSL rejects the
    ///   certificate.
    package func certificate(_ label: String) throws -> Certificate {
        try Certificate(der: try keychain.identity(label: label, accessGroup: sharedGroup).certificate)
    }

    /// Adds identities in one transaction, and notifies observers.
    ///
    /// - Returns: An outcome for each identity, in order. An identity that fails does not affect the others.
    /// - Throws: `KeychainError` if no identity could be added.
    package func add(
        _ identities: [(certificate: Certificate, privateKey: PrivateKey)]
    ) throws(KeychainError) -> [AddOutcome] {
        let outcomes = try keychain.add(
            identities.map { pair in
                Result { try prepare(pair.certificate, pair.privateKey).identity }
            })
        if outcomes.contains(where: { (try? $0.isNew()) == true }) { announceChange() }
        return outcomes
    }

    /// An identity that is encoded in the keychain's storage format.
    ///
    /// Encoding a key takes longer than storing it. Several threads can encode identities concurrently.
    package struct PreparedIdentity: Sendable {
        /// The summary of the identity, as lists show it.
        package let summary: IdentitySummary
        let identity: NewIdentity
    }

    /// Encodes an identity in the keychain's storage format.
    ///
    /// - Throws: `OpenSSLError` if the key cannot be encoded.
    package func prepare(_ certificate: Certificate, _ privateKey: PrivateKey) throws(OpenSSLError)
        -> PreparedIdentity
    {
        let summary = IdentitySummary(certificate)
        return PreparedIdentity(
            summary: summary,
            identity: NewIdentity(
                label: summary.label, certificate: certificate.der, privateKey: try privateKey.pkcs8(),
                applicationTag: summary.tag, notBefore: summary.notBefore, accessibility: Self.accessibility,
                accessGroup: sharedGroup))
    }

    /// Access to the service password in the keychain.
    package var servicePassword: ServicePasswordStore {
        ServicePasswordStore(keychain, accessGroup: sharedGroup, device: device)
    }

    /// Watches the device's state, which determines whether keys and the password are accessible (`requireOpen()`).
    package func watchState() -> DeviceStateWatch { DeviceStateWatch(device) }

    /// Watches the keychain for changes of identities and of the service password (`changeCount()`).
    func watchChanges(in turn: WatchSnapshot) -> KeychainWatch {
        KeychainWatch(keychain, accessGroup: sharedGroup, on: device, turn: turn)
    }

    /// The device states in which the provider's keys and password are accessible (docs/rules.md R8.5). They are
    /// inaccessible after a restart until the first unlock, and accessible from then on, even while the device is
    /// locked.
    package static let accessibility = Accessibility.afterFirstUnlockThisDeviceOnly

    /// Removes the provider's part of the keychain (identities, authorities, tokens, service password), and notifies
    /// observers.
    ///
    /// - Returns: The number of removed items.
    /// - Throws: `KeychainError` if the keychain cannot be written.
    package func removeAll() throws(KeychainError) -> Int {
        let count = try keychain.removeAll()
        if count > 0 {
            announceChange()
            TokenStore(self).announceChange()
            servicePassword.postChange()
        }
        return count
    }

    /// Notifies observers that identities have changed, if one of them was added.
    package func announceChange(in outcomes: [AddOutcome]) {
        if outcomes.contains(where: { (try? $0.isNew()) == true }) { announceChange() }
    }

    /// Notifies observers that identities have changed.
    ///
    /// Call this after the change is on disk. A failure to post the notification is ignored, because a provider also
    /// compares the keychain's change count at every request.
    package func announceChange() {
        try? Notifications(device: device).post(.identitiesChanged)
    }
}

extension ProviderStore {
    /// Reads all identities of the provider, both published and token-only ones.
    ///
    /// - Throws: `KeychainError`; `CertificateError` for an unreadable certificate.
    package func heldIdentities() throws -> [IdentitySummary] {
        try identities() + TokenStore(self).unpublished().map { IdentitySummary($0.certificate) }
    }

    /// Reads the certificate of a published or token-only identity.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` if it does not exist; `CertificateError` if OpenSSL rejects the
    ///   certificate.
    package func heldCertificate(_ label: String) throws -> Certificate {
        if let registration = try TokenStore(self).registration(label) { return registration.certificate }
        return try certificate(label)
    }

    /// Adds prepared identities to a destination in one transaction, and notifies observers.
    ///
    /// - Throws: `KeychainError` if no identity could be added; the error of the first identity that failed.
    package func add(_ identities: [PreparedIdentity], as publication: IdentityPublication) throws {
        switch publication {
        case .keySharing:
            let outcomes = try keychain.add(identities.map { .success($0.identity) })
            announceChange(in: outcomes)
            for outcome in outcomes { _ = try outcome.isNew() }
        case .tokenOnly: try TokenStore(self).add(identities, rule: .cryptoTokenKit)
        }
    }
}

extension ProviderStore {
    /// Returns the certificates of the authorities above `certificate` that are in the keychain, nearest first.
    ///
    /// - Throws: `KeychainError`, `CertificateError`.
    package func chain(of certificate: Certificate) throws -> [Certificate] {
        let authorities = try authorityCertificates()
        var chain: [Certificate] = []
        var last = certificate
        while !last.isSelfSigned, chain.count < authorities.count,
            let issuer = authorities.first(where: { $0.isIssuer(of: last) })
        {
            chain.append(issuer)
            last = issuer
        }
        return chain
    }

    /// Reads the certificates of all authorities that were ever created, roots first.
    ///
    /// - Throws: `KeychainError`, `CertificateError`.
    package func authorityCertificates() throws -> [Certificate] {
        let certificates = try keychain.identities(accessGroup: App.authorityGroup).map {
            try Certificate(der: $0.certificate)
        }
        let roots = Set(certificates.filter(\.isSelfSigned))
        return certificates.filter(roots.contains) + certificates.filter { !roots.contains($0) }
    }
}

extension ProviderStore {
    /// Calls `body` with the certificate of each identity, in the order in which they were added. Reads 256 at a time,
    /// so that memory use does not grow with the keychain.
    ///
    /// - Throws: `KeychainError`, `CertificateError`, and the errors of `body`.
    package func forEachCertificate(_ body: (Certificate) throws -> Void) throws {
        var last: Int64 = 0
        while true {
            let batch = try keychain.identities(after: last, limit: 256, accessGroup: sharedGroup)
            guard let end = batch.last else { return }
            for record in batch { try body(try Certificate(der: record.certificate)) }
            last = end.id
        }
    }
}

extension Certificate {
    /// Whether the certificate's subject and key identifier are those of the issuer of `other` (RFC 5280 section
    /// 4.2.1.1). A missing key identifier matches any. No signature is verified.
    fileprivate func isIssuer(of other: Certificate) -> Bool {
        guard subject == other.issuer else { return false }
        guard let wanted = other.authorityKeyIdentifier, let own = subjectKeyIdentifier else { return true }
        return wanted == own
    }
}
