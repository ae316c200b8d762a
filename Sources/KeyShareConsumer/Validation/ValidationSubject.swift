internal import KeySharing
package import OpenSSL

/// An identity to validate, with the certificates that came with it.
package struct ValidationSubject: Sendable {
    /// The certificate to validate.
    package let certificate: Certificate
    /// Whether the private key is the certificate's; an error where the key cannot be read or used, as on a locked
    /// device, and nil for a certificate alone.
    package let keyMatches: Result<Bool, any Error>?
    /// Certificates that came with the identity, from which a chain may be built.
    package let intermediates: [Certificate]

    /// Makes a subject of a certificate and the private key beside it; nil for a certificate alone.
    package init(
        certificate: Certificate, privateKey: Result<PrivateKey, any Error>?,
        intermediates: [Certificate] = []
    ) {
        self.init(
            certificate: certificate,
            keyMatches: privateKey.map { key in Result { try key.get().matches(certificate) } },
            intermediates: intermediates)
    }

    /// Makes a subject of a certificate and what is known of a key that nobody can read, as a token's.
    package init(
        certificate: Certificate, keyMatches: Result<Bool, any Error>?, intermediates: [Certificate] = []
    ) {
        self.certificate = certificate
        self.keyMatches = keyMatches
        self.intermediates = intermediates
    }

    /// The identity in the consumer's keychain.
    package init(_ identity: StoredIdentity, in store: ConsumerStore) {
        self.init(
            certificate: identity.certificate,
            privateKey: Result { try store.privateKey(of: identity.summary.label) })
    }

    /// The subjects of a PKCS #12 file: the identities in it, and the certificates that a key names by
    /// localKeyID though they are for another key. The latter fail the check of the key.
    package static func all(in contents: PKCS12Contents) -> [ValidationSubject] {
        let pairs =
            contents.identities.map { ($0.certificate, $0.privateKey) }
            + contents.mismatchedKeys.flatMap { key in
                key.namedCertificates.map { ($0, key.privateKey) }
            }
        return pairs.map { certificate, key in
            ValidationSubject(
                certificate: certificate, privateKey: .success(key), intermediates: contents.certificates)
        }
    }

    /// The subjects of a file of certificates: those that issued no other one in the file, with the others to build
    /// paths from. Where each issued another one, the first is the subject.
    package static func all(among certificates: [Certificate]) -> [ValidationSubject] {
        let issuers = Set(certificates.filter { !$0.isSelfIssued }.map(\.issuer))
        let leaves = certificates.filter { !issuers.contains($0.subject) }
        let chosen = leaves.isEmpty ? Array(certificates.prefix(1)) : leaves
        // A root beside its users is no user.
        let users = chosen.filter { !$0.isSelfIssued }
        let subjects = users.isEmpty ? chosen : users
        let others = Set(certificates).subtracting(subjects)
        let intermediates = certificates.filter { others.contains($0) }
        return subjects.map {
            ValidationSubject(certificate: $0, privateKey: nil, intermediates: intermediates)
        }
    }
}
