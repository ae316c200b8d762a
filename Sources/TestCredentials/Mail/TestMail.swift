package import KeySharing
package import OpenSSL

/// A mail of S/MIME that tells which keys a consumer has: its plan, before it is written.
package struct TestMail: Sendable {
    /// The name of its file.
    package let file: String
    /// Whom it is encrypted for; none where it is signed alone.
    package let recipients: [IdentitySummary]
    /// Who signs it; nil where nobody does.
    package let signer: IdentitySummary?
    /// The cipher; nil where it is signed alone.
    package let cipher: ContentCipher?
    /// How RSA keys are used.
    package let transport: RSAKeyTransport
    /// What it says about itself.
    package let purpose: String

    /// The ways to encrypt that the mails of a run take in turns, so that a reader is held against all of them.
    package static let encryptions: [(cipher: ContentCipher, transport: RSAKeyTransport)] = [
        (.aes256CBC, .pkcs1), (.aes256GCM, .oaep), (.aes128CBC, .oaep), (.aes128GCM, .pkcs1),
    ]

    /// The mails for some identities: one that only its key opens for each encryption identity, a signed one for each
    /// signature identity, one signed and encrypted for the newest of both, and one for all encryption identities.
    ///
    /// - Parameters:
    ///   - identities: The identities in the order of lists, the newest of a type first.
    ///   - cipher: The cipher of all mails; nil for ``encryptions`` in turns.
    ///   - transport: How RSA keys are used in all mails; nil for ``encryptions`` in turns.
    package static func plan(
        for identities: [IdentitySummary], cipher: ContentCipher? = nil, transport: RSAKeyTransport? = nil
    ) -> [TestMail] {
        func ofType(_ type: CredentialType) -> [IdentitySummary] {
            identities.filter { $0.type(.keySharing2025) == type }
        }
        let (encryption, signature) = (ofType(.encryption), ofType(.signature))
        func name(_ identity: IdentitySummary) -> String {
            identity.filename(.keySharing2025).replacing(".p12", with: ".eml")
        }
        var mails: [TestMail] = []
        func add(
            _ file: String, for recipients: [IdentitySummary], signer: IdentitySummary? = nil,
            _ purpose: String
        ) {
            let usual = encryptions[mails.count % encryptions.count]
            mails.append(
                TestMail(
                    file: file, recipients: recipients, signer: signer,
                    cipher: recipients.isEmpty ? nil : cipher ?? usual.cipher,
                    transport: transport ?? usual.transport, purpose: purpose))
        }
        for identity in encryption {
            add(
                name(identity), for: [identity],
                "encrypted for the key \(identity.serialNumber) alone")
        }
        if let newest = encryption.first, let signer = signature.first {
            add(
                "signed-and-encrypted.eml", for: [newest], signer: signer,
                "signed with the key \(signer.serialNumber), encrypted for the key \(newest.serialNumber)")
        }
        if !encryption.isEmpty {
            add("all-encryption.eml", for: encryption, "encrypted for all keys, each of which opens it")
        }
        for identity in signature {
            add(name(identity), for: [], signer: identity, "signed with the key \(identity.serialNumber)")
        }
        return mails
    }

    /// The mail with another name for its file.
    package func named(_ file: String) -> TestMail {
        TestMail(
            file: file, recipients: recipients, signer: signer, cipher: cipher, transport: transport,
            purpose: purpose)
    }
}
