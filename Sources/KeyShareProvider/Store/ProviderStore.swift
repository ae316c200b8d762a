internal import CertificateReading
internal import SecretMemory
package import DeviceSimulation
package import KeySharing
package import OpenSSL

/// The provider's part of the device's keychain: identities, the service password, and the authorities of the test
/// PKI, which have an access group of their own so that they are never published (docs/rules.md R8.7).
package struct ProviderStore: Sendable {
    /// The device's keychain, as the provider's app may use it.
    package let keychain: Keychain
    /// The device that the keychain belongs to.
    package let device: Device
    /// The access group of what is published: identities and the service password (docs/rules.md R8.1).
    package let sharedGroup = App.publishedGroup

    /// Opens the keychain, and makes it on first use.
    ///
    /// - Throws: `KeychainError`.
    package init(_ device: Device) throws(KeychainError) {
        keychain = try Keychain(device: device, app: .provider)
        self.device = device
    }

    /// Opens the keychain without making or changing anything; nil where the device has none.
    ///
    /// - Throws: `KeychainError`.
    package init?(existingOn device: Device) throws(KeychainError) {
        guard let keychain = try Keychain(existingOn: device, app: .provider) else { return nil }
        self.keychain = keychain
        self.device = device
    }

    /// A number that grows whenever any process adds or removes an identity or changes the service password.
    ///
    /// - Throws: `KeychainError` where the keychain cannot be read.
    package func changeCount() throws(KeychainError) -> Int64 {
        try keychain.changeCount(accessGroup: sharedGroup)
    }

    /// Reads every identity, in no particular order.
    ///
    /// - Throws: `KeychainError`; `CertificateError` for an unreadable certificate without a stored summary.
    package func identities() throws -> [IdentitySummary] {
        try identities(after: nil).identities
    }

    /// Reads the identities that were added since an earlier reading, or every identity, in no particular order.
    ///
    /// - Parameter earlier: the earlier reading; nil for none.
    /// - Returns: the identities, and the reading, which says whether they are those that were added.
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
                // A summary of an earlier version decides without the certificate; only whose it is stays unknown.
                guard let summary else { throw error }
                return summary
            }
        }
        return (identities, reading)
    }

    /// Opens the identity of `label`: certificate and private key.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` where there is none, `.decode` where the record was altered,
    ///   `.interactionNotAllowed` while the device's state keeps keys closed; `CertificateError` where OpenSSL
    ///   refuses certificate or key.
    package func identity(_ label: String) throws -> (certificate: Certificate, privateKey: PrivateKey) {
        let opened = try keychain.openIdentity(label: label, accessGroup: sharedGroup)
        return (try Certificate(der: opened.record.certificate), try PrivateKey(pkcs8: opened.privateKey))
    }

    /// Reads the certificate of the identity of `label`, and leaves the key closed.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` where there is none; `CertificateError` where OpenSSL refuses the
    ///   certificate.
    package func certificate(_ label: String) throws -> Certificate {
        try Certificate(der: try keychain.identity(label: label, accessGroup: sharedGroup).certificate)
    }

    /// Adds identities in one transaction, and tells observers.
    ///
    /// - Returns: an outcome for each identity, in order. An identity that fails keeps no other one out.
    /// - Throws: `KeychainError` where none could be added.
    package func add(
        _ identities: [(certificate: Certificate, privateKey: PrivateKey)]
    ) throws(KeychainError) -> [AddOutcome] {
        try add(
            identities.map { pair in
                Result<PreparedIdentity, any Error> { try prepare(pair.certificate, pair.privateKey) }
            })
    }

    /// An identity in the form in which the keychain stores it.
    ///
    /// Encoding a key takes longer than storing it, and several threads can encode at a time.
    package struct PreparedIdentity: Sendable {
        /// What lists show of the identity.
        package let summary: IdentitySummary
        let identity: NewIdentity
    }

    /// Encodes an identity in the form in which the keychain stores it.
    ///
    /// - Throws: `OpenSSLError` where the key cannot be encoded.
    package func prepare(_ certificate: Certificate, _ privateKey: PrivateKey) throws(OpenSSLError)
        -> PreparedIdentity
    {
        let summary = IdentitySummary(certificate)
        return PreparedIdentity(
            summary: summary,
            identity: try NewIdentity(certificate, privateKey, tag: summary.tag, group: sharedGroup))
    }

    /// Adds prepared identities in one transaction, and tells observers.
    ///
    /// - Returns: an outcome for each identity, in order; an error in place of an identity is passed through.
    /// - Throws: `KeychainError` where none could be added.
    package func add(
        _ identities: [Result<PreparedIdentity, any Error>]
    ) throws(KeychainError) -> [AddOutcome] {
        let outcomes = try keychain.add(identities.map { $0.map(\.identity) })
        if outcomes.contains(where: { (try? $0.isNew()) == true }) { tellOfChange() }
        return outcomes
    }

    /// The service password in the keychain.
    package var servicePassword: ServicePasswordStore {
        ServicePasswordStore(keychain, accessGroup: sharedGroup, device: device)
    }

    /// Watches the device's state, which tells whether keys and password are open (`requireOpen()`).
    package func watchState() -> DeviceStateWatch { DeviceStateWatch(device) }

    /// Watches the keychain for changes of identities and of the service password (`changeCount()`).
    func watchChanges(in turn: LookTurn) -> KeychainWatch {
        KeychainWatch(keychain, accessGroup: sharedGroup, on: device, turn: turn)
    }

    /// When the provider's keys and password can be used (docs/rules.md R8.5): also while the device is locked, but
    /// after a restart not before the first unlock.
    package static let accessibility = Accessibility.afterFirstUnlockThisDeviceOnly

    /// Removes everything from the provider's part of the keychain (identities, authorities, tokens, service password)
    /// and tells observers.
    ///
    /// - Returns: how many items there were.
    /// - Throws: `KeychainError` where the keychain cannot be written.
    package func removeAll() throws(KeychainError) -> Int {
        let count = try keychain.removeAll()
        if count > 0 {
            tellOfChange()
            TokenStore(self).tellOfChange()
            servicePassword.postChange()
        }
        return count
    }

    /// Tells observers that identities have changed, if one of `results` is a success.
    package func tellOfChange(in results: [Result<some Any, KeychainError>]) {
        if results.contains(where: { (try? $0.get()) != nil }) { tellOfChange() }
    }

    /// Tells observers that identities have changed.
    ///
    /// The change is on disk by then. A notification that cannot be posted is not an error: a provider also compares
    /// the keychain's change count at every request.
    package func tellOfChange() {
        try? Notifications(device: device).post(.identitiesChanged)
    }
}

extension DeviceStateWatch {
    /// Refuses while the device's state keeps the provider's keys and password closed (docs/rules.md R6.11, R8.5).
    ///
    /// - Throws: `KeychainError`: `.interactionNotAllowed`; `DeviceError` where the state cannot be read.
    package func requireOpen() throws {
        try Keychain.check(ProviderStore.accessibility, isAvailableIn: status().state)
    }
}

extension ProviderStore {
    /// The certificates of the authorities above `certificate`, nearest first, as far as the keychain holds them.
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

    /// Reads the certificates of every authority that was ever made, roots first.
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
    /// Calls `body` with the certificate of each identity, in the order in which they were added. Reads 256 at a
    /// time, so that memory does not grow with the keychain.
    ///
    /// - Throws: `KeychainError`, `CertificateError`, and what `body` throws.
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

extension NewIdentity {
    /// Encodes an identity for the provider's part of the keychain.
    ///
    /// - Parameters:
    ///   - tag: what lists need of the certificate, so that they need not parse it.
    ///   - group: the access group.
    /// - Throws: `OpenSSLError` where the key cannot be encoded.
    package init(
        _ certificate: Certificate, _ privateKey: PrivateKey, tag: [UInt8], group: String
    ) throws(OpenSSLError) {
        self.init(
            label: certificate.label, certificate: certificate.der, privateKey: try privateKey.pkcs8(),
            applicationTag: tag, notBefore: certificate.notBefore,
            accessibility: ProviderStore.accessibility, accessGroup: group)
    }
}

extension Certificate {
    /// Whether subject and key identifier are those of the issuer of `other` (RFC 5280 section 4.2.1.1). Verifies no
    /// signature.
    fileprivate func isIssuer(of other: Certificate) -> Bool {
        guard subject == other.issuer else { return false }
        guard let wanted = other.authorityKeyIdentifier, let own = subjectKeyIdentifier else { return true }
        return wanted == own
    }
}
