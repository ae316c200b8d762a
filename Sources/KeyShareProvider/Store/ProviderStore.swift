internal import CertificateReading
package import SecretMemory
package import DeviceSimulation
package import KeySharing
package import OpenSSL

/// The provider's side of the device's keychain: identities, the service password, and the test PKI's
/// authorities, the latter in a group of their own so that they are never published.
package struct ProviderStore: Sendable {
    package let keychain: Keychain
    let device: Device
    package let sharedGroup = App.provider.entitlements.keychainAccessGroups[0]

    /// Opens the keychain, and makes it on first use.
    ///
    /// - Throws: `KeychainError`.
    package init(_ device: Device) throws(KeychainError) {
        keychain = try Keychain(device: device, app: .provider)
        self.device = device
    }

    /// Opens the keychain for a look at it, which makes and changes nothing; nil where there never was one.
    ///
    /// - Throws: `KeychainError`.
    package init?(existingOn device: Device) throws(KeychainError) {
        guard let keychain = try Keychain(existingOn: device, app: .provider) else { return nil }
        self.keychain = keychain
        self.device = device
    }

    /// Changes whenever an identity was added or removed, by whatever process.
    ///
    /// - Throws: `KeychainError`.
    package func changeCount() throws(KeychainError) -> Int64 {
        try keychain.changeCount(accessGroup: sharedGroup)
    }

    /// Every identity, in no order.
    ///
    /// - Throws: `KeychainError`; `CertificateError` for an unreadable certificate without a summary.
    package func identities() throws -> [IdentitySummary] {
        try keychain.identityAttributes(accessGroup: sharedGroup).map { attributes in
            if let summary = IdentitySummary(
                label: attributes.label, notBefore: attributes.notBefore, tag: attributes.applicationTag)
            {
                return summary
            }
            return IdentitySummary(try certificate(attributes.label))
        }
    }

    /// An identity with its key.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` where there is none, `.decode` where it was altered;
    ///   `CertificateError` where OpenSSL does not take it.
    package func identity(_ label: String) throws -> (certificate: Certificate, privateKey: PrivateKey) {
        let opened = try keychain.openIdentity(label: label, accessGroup: sharedGroup)
        return (try Certificate(der: opened.record.certificate), try PrivateKey(pkcs8: opened.privateKey))
    }

    /// The certificate of an identity, without its key.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` where there is none; `CertificateError`.
    package func certificate(_ label: String) throws -> Certificate {
        try Certificate(der: try keychain.identity(label: label, accessGroup: sharedGroup).certificate)
    }

    /// Adds identities in one transaction.
    ///
    /// - Returns: for each what became of it; that one failed keeps none of the others out.
    /// - Throws: `KeychainError` where nothing could be added.
    package func add(
        _ identities: [(certificate: Certificate, privateKey: PrivateKey)]
    ) throws(KeychainError) -> [Result<AddedIdentity, any Error>] {
        try add(identities) { try prepare($0.certificate, $0.privateKey) }
    }

    /// An identity in the form in which it is stored.
    ///
    /// To encode a key takes longer than to store it, and several threads may do it at a time.
    package struct PreparedIdentity: Sendable {
        package let summary: IdentitySummary
        fileprivate let identity: NewIdentity
    }

    /// Puts an identity into the form in which it is stored.
    ///
    /// - Throws: `OpenSSLError` where the key cannot be written.
    package func prepare(_ certificate: Certificate, _ privateKey: PrivateKey) throws(OpenSSLError)
        -> PreparedIdentity
    {
        let summary = IdentitySummary(certificate)
        return PreparedIdentity(
            summary: summary,
            identity: try NewIdentity(certificate, privateKey, tag: summary.tag, group: sharedGroup))
    }

    /// Adds prepared identities in one transaction.
    ///
    /// - Throws: as for others.
    package func add(
        _ identities: [PreparedIdentity]
    ) throws(KeychainError) -> [Result<AddedIdentity, any Error>] {
        try add(identities) { $0 }
    }

    private func add<Source>(
        _ sources: [Source], as prepared: (Source) throws -> PreparedIdentity
    ) throws(KeychainError) -> [Result<AddedIdentity, any Error>] {
        let results = try keychain.add(sources) { try prepared($0).identity }
        if results.contains(where: { (try? $0.get()) == .added }) { tellOfChange() }
        return results
    }

    /// The service password, made on first use.
    ///
    /// - Throws: `KeychainError`.
    package func servicePassword() throws(KeychainError) -> SecretBytes {
        try keychain.createOrReadPassword(
            service: ServicePassword.serviceAndAccount, account: ServicePassword.serviceAndAccount,
            accessibility: Self.accessibility, accessGroup: sharedGroup
        ) {
            var random = RandomSource.system.generator()
            return ServicePassword.random(using: &random)
        }
    }

    /// A look at the device's state that is cheap enough for every password.
    func watchState() -> DeviceStateWatch { DeviceStateWatch(device) }

    /// Refuses while the device's state keeps keys and password closed.
    ///
    /// - Throws: `KeychainError`: `.interactionNotAllowed`; `DeviceError` where the state cannot be read.
    package func requireOpen() throws {
        try Keychain.check(Self.accessibility, isAvailableIn: try device.state())
    }

    /// When keys and password can be used: a provider goes on while the device is locked, but has nothing to
    /// give after a restart until the first unlock.
    package static let accessibility = Accessibility.afterFirstUnlockThisDeviceOnly

    /// Empties the provider's keychain: identities, authorities and password.
    ///
    /// - Returns: how many items there were.
    /// - Throws: `KeychainError`.
    package func removeAll() throws(KeychainError) -> Int {
        let count = try keychain.removeAll()
        if count > 0 { tellOfChange() }
        return count
    }

    /// Tells who observes that identities have changed, when one of `results` is that of an identity added.
    package func tellOfChange(in results: [Result<some Any, KeychainError>]) {
        if results.contains(where: { (try? $0.get()) != nil }) { tellOfChange() }
    }

    /// Tells who observes that identities have changed.
    ///
    /// The change is on disk by now: that nobody could be told of it does not undo it, and whoever asks the
    /// provider is answered by the keychain's change count.
    package func tellOfChange() {
        try? Notifications(device: device).post(Notifications.identitiesChanged)
    }
}

extension ProviderStore {
    /// The authorities above a certificate, as far as the provider has them, up to the root.
    ///
    /// - Throws: `KeychainError`, `CertificateError`.
    package func chain(of certificate: Certificate) throws -> [Certificate] {
        let authorities = try authorityCertificates()
        var chain: [Certificate] = []
        var last = certificate
        while !last.isSelfIssued, chain.count < authorities.count,
            let issuer = authorities.first(where: { $0.isIssuer(of: last) })
        {
            chain.append(issuer)
            last = issuer
        }
        return chain
    }

    /// The certificates of every authority there ever was, roots first.
    ///
    /// - Throws: `KeychainError`, `CertificateError`.
    package func authorityCertificates() throws -> [Certificate] {
        let certificates = try keychain.identities(accessGroup: App.authorityGroup).map {
            try Certificate(der: $0.certificate)
        }
        return certificates.filter(\.isSelfIssued) + certificates.filter { !$0.isSelfIssued }
    }
}

extension ProviderStore {
    /// The certificates of every identity, in the order they were added, one after the other.
    ///
    /// - Throws: `KeychainError`, `CertificateError`, and what `body` throws.
    package func forEachCertificate(_ body: (Certificate) throws -> Void) throws {
        var last: Int64 = 0
        while true {
            let stretch = try keychain.identities(after: last, limit: 256, accessGroup: sharedGroup)
            guard let end = stretch.last else { return }
            for record in stretch { try body(try Certificate(der: record.certificate)) }
            last = end.id
        }
    }
}

extension App {
    /// Where the provider keeps its test PKI, apart from what it publishes.
    package static var authorityGroup: String { provider.entitlements.keychainAccessGroups[1] }
}

extension NewIdentity {
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
    /// Whether name and key identifier are those of the other's issuer; a signature is not looked at.
    fileprivate func isIssuer(of other: Certificate) -> Bool {
        guard subject == other.issuer else { return false }
        guard let wanted = other.authorityKeyIdentifier, let own = subjectKeyIdentifier else { return true }
        return wanted == own
    }
}
