internal import KeySharing
package import OpenSSL

/// An identity to validate, and the other certificates from its file.
package struct ValidationSubject: Sendable {
    /// The certificate to validate.
    package let certificate: Certificate
    /// Whether the private key belongs to the certificate: a failure if the key cannot be read or used, for example on
    /// a locked device, and nil if there is no key.
    package let keyMatches: Result<Bool, any Error>?
    /// Other certificates from the same file, from which a path may be built.
    package let intermediates: [Certificate]

    /// Creates a subject from a certificate and its private key. The key is nil if there is none.
    ///
    /// The public half of a key can be copied from anyone's certificate, so the private half must also belong to it.
    package init(
        certificate: Certificate, privateKey: Result<PrivateKey, any Error>?,
        intermediates: [Certificate] = []
    ) {
        self.init(
            certificate: certificate,
            keyMatches: privateKey.map { key in
                Result {
                    let loaded = try key.get()
                    return loaded.matches(certificate) && loaded.isConsistent
                }
            },
            intermediates: intermediates)
    }

    /// Creates a subject from a certificate and the result of a key check, for keys that cannot be read, such as a
    /// token's.
    package init(
        certificate: Certificate, keyMatches: Result<Bool, any Error>?, intermediates: [Certificate] = []
    ) {
        self.certificate = certificate
        self.keyMatches = keyMatches
        self.intermediates = intermediates
    }

    /// Creates a subject from an identity in the consumer's keychain.
    package init(_ identity: StoredIdentity, in store: ConsumerStore) {
        self.init(
            certificate: identity.certificate,
            privateKey: Result { try store.privateKey(of: identity.summary.label) })
    }

    /// The subjects in a PKCS #12 file: its identities, and any certificates that a key identifies by localKeyID
    /// although they belong to another key, or whose public half a key has copied. The latter fail the key check.
    package static func all(in contents: PKCS12Contents) -> [ValidationSubject] {
        // The reader has already checked both halves of each key, and limited the time that this takes.
        let pairs =
            contents.identities.map { ($0.certificate, true) }
            + contents.mismatchedKeys.flatMap { key in key.namedCertificates.map { ($0, false) } }
        return pairs.map { certificate, isMatch in
            ValidationSubject(
                certificate: certificate, keyMatches: .success(isMatch), intermediates: contents.certificates)
        }
    }

    /// The subjects in a file of certificates: those that issued no other certificate in the file. The others become
    /// intermediate certificates. If every certificate issued another one, the first is the subject.
    package static func all(among certificates: [Certificate]) -> [ValidationSubject] {
        let issuers = Set(certificates.filter { !$0.isSelfIssued }.map(\.issuer))
        let leaves = certificates.filter { !issuers.contains($0.subject) }
        let chosen = leaves.isEmpty ? Array(certificates.prefix(1)) : leaves
        // In a file with end entities, a root is not a subject.
        let users = chosen.filter { !$0.isSelfIssued }
        let subjects = users.isEmpty ? chosen : users
        let others = Set(certificates).subtracting(subjects)
        let intermediates = certificates.filter { others.contains($0) }
        return subjects.map {
            ValidationSubject(certificate: $0, privateKey: nil, intermediates: intermediates)
        }
    }
}
