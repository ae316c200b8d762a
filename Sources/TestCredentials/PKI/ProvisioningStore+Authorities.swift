internal import DeviceSimulation
internal import KeyShareProvider
internal import OpenSSL
internal import SimulatedKeychain

extension ProvisioningStore {
    /// Reads the newest test PKI. Returns nil if the keychain contains none.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be read. `CertificateError` if OpenSSL rejects an authority.
    package func authority() throws -> TestAuthority? { try authorities().last }

    /// Reads all test PKIs, in the order of creation. Incomplete PKIs are skipped.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be read. `CertificateError` if OpenSSL rejects an authority.
    package func authorities() throws -> [TestAuthority] {
        var parts: [[TestAuthorityRole: CertificateIssuer]] = []
        // The authorities of a PKI are stored in sequence, beginning with the root.
        for attributes in try provider.keychain.identityAttributes(accessGroup: App.authorityGroup) {
            guard
                let role = TestAuthorityRole(
                    rawValue: String(decoding: attributes.applicationTag, as: UTF8.self))
            else { continue }
            if role == .root || parts.isEmpty { parts.append([:]) }
            parts[parts.count - 1][role] = try issuer(attributes.label)
        }
        return parts.compactMap(TestAuthority.init)
    }

    /// Opens an authority by the label of its certificate.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` if the keychain contains no such authority. `CertificateError` if
    ///   OpenSSL rejects it.
    func issuer(_ label: String) throws -> CertificateIssuer {
        let opened = try provider.keychain.openIdentity(label: label, accessGroup: App.authorityGroup)
        return CertificateIssuer(
            certificate: try Certificate(der: opened.record.certificate),
            privateKey: try PrivateKey(pkcs8: opened.privateKey))
    }

    /// Stores the authorities of a test PKI.
    ///
    /// - Throws: `KeychainError` if they cannot be written. `OpenSSLError` if a key cannot be encoded.
    package func add(_ authority: TestAuthority) throws {
        let identities = try TestAuthorityRole.allCases.map { role in
            let issuer = authority[role]
            return try NewIdentity(
                issuer.certificate, issuer.privateKey, tag: Array(role.rawValue.utf8),
                group: App.authorityGroup)
        }
        for result in try provider.keychain.add(identities) { _ = try result.get() }
    }
}
