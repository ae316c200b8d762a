internal import DeviceSimulation
package import KeyShareProvider
internal import OpenSSL

extension ProviderStore {
    /// The test PKI that was made last, for issuing more; nil where none was.
    ///
    /// - Throws: `KeychainError`, `CertificateError`.
    package func authority() throws -> TestAuthority? { try authorities().last }

    /// Every test PKI, in the order they were made.
    ///
    /// - Throws: `KeychainError`, `CertificateError`.
    package func authorities() throws -> [TestAuthority] {
        var parts: [[TestAuthorityRole: CertificateIssuer]] = []
        // Kept together, the root first.
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

    /// An authority by the label of its certificate.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` where there is none; `CertificateError`.
    func issuer(_ label: String) throws -> CertificateIssuer {
        let opened = try keychain.openIdentity(label: label, accessGroup: App.authorityGroup)
        return CertificateIssuer(
            certificate: try Certificate(der: opened.record.certificate),
            privateKey: try PrivateKey(pkcs8: opened.privateKey))
    }

    /// Keeps a test PKI's authorities.
    ///
    /// - Throws: `KeychainError`; `OpenSSLError` where a key cannot be written.
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
