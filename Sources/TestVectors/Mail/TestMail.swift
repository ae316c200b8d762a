package import KeySharing
package import OpenSSL

/// The plan of an S/MIME test message that proves which keys a consumer has imported.
package struct TestMail: Sendable {
    /// The file name of the message.
    package let file: String
    /// The identities for which the message is encrypted; empty if the message is only signed.
    package let recipients: [IdentitySummary]
    /// The identity that signs the message; nil if the message is not signed.
    package let signer: IdentitySummary?
    /// The cipher, or nil if the message is only signed.
    package let cipher: ContentCipher?
    /// The padding of RSA key transport.
    package let transport: RSAKeyTransport
    /// The purpose of the message, as quoted in its text.
    package let purpose: String

    /// The combinations of cipher and key transport that the messages of a run use in rotation, so that a reader is
    /// tested with all of them.
    package static let encryptions: [(cipher: ContentCipher, transport: RSAKeyTransport)] = [
        (.aes256CBC, .pkcs1), (.aes256GCM, .oaep), (.aes128CBC, .oaep), (.aes128GCM, .pkcs1),
    ]

    /// Plans the messages for some identities:
    ///
    /// - for each encryption identity, a message that only its key can decrypt
    /// - for each signature identity, a signed message
    /// - one message that is signed with the newest signature identity and encrypted for the newest encryption identity
    /// - one message for all encryption identities
    ///
    /// - Parameters:
    ///   - identities: The identities in list order: by type, the newest first.
    ///   - cipher: The cipher of all messages, or nil to use ``encryptions`` in rotation.
    ///   - transport: The RSA key transport of all messages, or nil to use ``encryptions`` in rotation.
    ///   - subsets: The subsets to which the combinations in rotation must belong.
    package static func plan(
        for identities: [IdentitySummary], cipher: ContentCipher? = nil, transport: RSAKeyTransport? = nil,
        subsets: [MailSubset] = []
    ) -> [TestMail] {
        let rotation = encryptions.filter { encryption in
            subsets.allSatisfy { $0.includes(encryption.cipher) && $0.includes(encryption.transport) }
        }
        func ofType(_ type: CredentialType) -> [IdentitySummary] {
            identities.filter { $0.type(under: .keySharing2025) == type }
        }
        let (encryption, signature) = (ofType(.encryption), ofType(.signature))
        func name(_ identity: IdentitySummary) -> String {
            identity.filename(under: .keySharing2025).replacing(".p12", with: ".eml")
        }
        var mails: [TestMail] = []
        func add(
            _ file: String, for recipients: [IdentitySummary], signer: IdentitySummary? = nil,
            _ purpose: String
        ) {
            let usual = rotation[mails.count % rotation.count]
            mails.append(
                TestMail(
                    file: file, recipients: recipients, signer: signer,
                    cipher: recipients.isEmpty ? nil : cipher ?? usual.cipher,
                    transport: transport ?? usual.transport, purpose: purpose))
        }
        for identity in encryption {
            add(
                name(identity), for: [identity],
                "encrypted only for the key \(identity.serialNumber)")
        }
        if let newest = encryption.first, let signer = signature.first {
            add(
                "signed-and-encrypted.eml", for: [newest], signer: signer,
                "signed with the key \(signer.serialNumber), encrypted for the key \(newest.serialNumber)")
        }
        if !encryption.isEmpty {
            add("all-encryption.eml", for: encryption, "encrypted for all keys, and each of them opens it")
        }
        for identity in signature {
            add(name(identity), for: [], signer: identity, "signed with the key \(identity.serialNumber)")
        }
        return mails
    }

    /// Returns the message with another file name.
    package func named(_ file: String) -> TestMail {
        TestMail(
            file: file, recipients: recipients, signer: signer, cipher: cipher, transport: transport,
            purpose: purpose)
    }
}
