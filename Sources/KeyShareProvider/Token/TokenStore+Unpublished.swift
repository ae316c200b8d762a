internal import CertificateReading
package import DeviceSimulation
package import KeySharing
package import OpenSSL
internal import PersistentToken

/// Where the identities that are made or imported go.
package enum IdentityPublication: Sendable, Hashable {
    /// To key sharing, which lists them and hands them over.
    case keySharing
    /// To the persistent token alone: they are used, and key sharing never lists them.
    case tokenOnly
}

// Identities that are registered as tokens and not published. They have no other place than their registration.

extension TokenStore {
    /// The registrations whose identities key sharing does not publish, in the order in which they were made.
    ///
    /// - Throws: `KeychainError`; `CertificateError` where OpenSSL refuses a certificate.
    package func unpublished() throws -> [TokenRegistration] {
        let registrations = try registrations()
        guard !registrations.isEmpty else { return [] }
        let published = try publishedLabels()
        return registrations.filter { !published.contains($0.label) }
    }

    /// Whether key sharing publishes the identity of a label.
    ///
    /// - Throws: `KeychainError`.
    package func isPublished(_ label: String) throws(KeychainError) -> Bool {
        do throws(KeychainError) {
            _ = try store.keychain.identity(label: label, accessGroup: store.sharedGroup)
            return true
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return false
        }
    }

    /// Registers the newest published identity of each person and type of which an older one is registered, by the rule
    /// of that one. Renewing calls it, so that what was used as a token goes on to be; the older ones stay registered.
    ///
    /// - Returns: how many were registered.
    /// - Throws: `KeychainError`; `CertificateError` and `OpenSSLError` where OpenSSL refuses an identity.
    package func registerRenewed() throws -> Int {
        let published = try publishedLabels()
        var registered: [Owner: TokenRegistration] = [:]
        for registration in try registrations() where published.contains(registration.label) {
            guard let owner = Owner(IdentitySummary(registration.certificate)) else { continue }
            let known = registered[owner]?.certificate.notBefore
            if known.map({ $0 < registration.certificate.notBefore }) ?? true {
                registered[owner] = registration
            }
        }
        guard !registered.isEmpty else { return 0 }
        var newest: [Owner: IdentitySummary] = [:]
        for identity in try store.identities() {
            guard let owner = Owner(identity), let known = registered[owner] else { continue }
            let latest = newest[owner]?.notBefore ?? known.certificate.notBefore
            if identity.notBefore > latest { newest[owner] = identity }
        }
        for (owner, identity) in newest {
            let opened = try store.identity(identity.label)
            try add(opened.certificate, opened.privateKey, rule: registered[owner]?.rule ?? .cryptoTokenKit)
        }
        return newest.count
    }

    private func publishedLabels() throws(KeychainError) -> Set<String> {
        Set(try store.keychain.identityAttributes(accessGroup: store.sharedGroup).map(\.label))
    }

    /// Whose identity it is and of which type, by which a renewed one follows another.
    private struct Owner: Hashable {
        let commonName: String
        let type: CredentialType

        /// Nil where a certificate names nobody.
        init?(_ identity: IdentitySummary) {
            guard let commonName = identity.details?.commonName else { return nil }
            self.commonName = commonName
            type = identity.type(.keySharing2025)
        }
    }
}

extension ProviderStore {
    /// Reads every identity that the provider holds: those that are published, and those that are tokens alone.
    ///
    /// - Throws: `KeychainError`; `CertificateError` for an unreadable certificate.
    package func heldIdentities() throws -> [IdentitySummary] {
        try identities() + TokenStore(self).unpublished().map { IdentitySummary($0.certificate) }
    }

    /// Reads the certificate of an identity that is published or a token alone.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` where there is none; `CertificateError` where OpenSSL refuses the
    ///   certificate.
    package func heldCertificate(_ label: String) throws -> Certificate {
        if let registration = try TokenStore(self).registration(label) { return registration.certificate }
        return try certificate(label)
    }

    /// Adds prepared identities in one transaction where they shall go, and tells observers.
    ///
    /// - Throws: `KeychainError` where none could be added; the error of the first that could not be.
    package func add(_ identities: [PreparedIdentity], as publication: IdentityPublication) throws {
        switch publication {
        case .keySharing:
            for added in try add(identities.map { .success($0) }) { _ = try added.isNew() }
        case .tokenOnly: try TokenStore(self).add(identities, rule: .cryptoTokenKit)
        }
    }
}
