internal import DeviceSimulation
package import KeyShareProvider
internal import OpenSSL

extension ProviderStore {
    /// Reads the test PKI that was made last; nil where the keychain has none.
    ///
    /// - Throws: `KeychainError` where the keychain cannot be read; `CertificateError` where OpenSSL refuses an
    ///   authority.
    package func authority() throws -> TestAuthority? { try authorities().last }

    /// Reads every test PKI, in the order in which they were made. A PKI of which an authority is missing is left out.
    ///
    /// - Throws: `KeychainError` where the keychain cannot be read; `CertificateError` where OpenSSL refuses an
    ///   authority.
    package func authorities() throws -> [TestAuthority] {
        var parts: [[TestAuthorityRole: CertificateIssuer]] = []
        // The authorities of a PKI are stored together, the root first.
        for attributes in try keychain.identityAttributes(accessGroup: App.authorityGroup) {
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
    /// - Throws: `KeychainError`: `.itemNotFound` where there is none; `CertificateError` where OpenSSL refuses it.
    func issuer(_ label: String) throws -> CertificateIssuer {
        let opened = try keychain.openIdentity(label: label, accessGroup: App.authorityGroup)
        return CertificateIssuer(
            certificate: try Certificate(der: opened.record.certificate),
            privateKey: try PrivateKey(pkcs8: opened.privateKey))
    }

    /// Stores the authorities of a test PKI.
    ///
    /// - Throws: `KeychainError` where they cannot be written; `OpenSSLError` where a key cannot be encoded.
    package func add(_ authority: TestAuthority) throws {
        let identities = try TestAuthorityRole.allCases.map { role in
            let issuer = authority[role]
            return try NewIdentity(
                issuer.certificate, issuer.privateKey, tag: Array(role.rawValue.utf8),
                group: App.authorityGroup)
        }
        for result in try keychain.add(identities) { _ = try result.get() }
    }
}
