internal import KeyOperations
package import KeyShareClient
internal import KeyShareProtocol
package import OpenSSL
package import PersistentToken
package import SecretMemory

/// The private key of a token's identity, for functions that require one. The provider performs its operations.
///
/// Operations throw the provider's errors. If a ciphertext cannot be decrypted, the error is the same as for a local
/// key, and does not contain the reason (RFC 8017, 7.2.2).
package struct TokenPrivateKey: ExternalPrivateKey {
    /// A signature of the token does not verify with the public key of the certificate.
    package struct UnprovedSignature: Error {}

    private let identity: TokenIdentity
    private let client: ProviderClient

    /// Creates the private key of an identity.
    ///
    /// - Parameters:
    ///   - identity: The identity.
    ///   - client: A connection to the provider, which must remain open while the key is used.
    package init(_ identity: TokenIdentity, through client: ProviderClient) {
        self.identity = identity
        self.client = client
    }

    /// The public key of the certificate.
    package var publicKey: PublicKey { identity.certificate.publicKey }

    /// Requests an operation, and blocks the thread until the provider has replied.
    ///
    /// - Throws: `UnprovedSignature`; `TokenError`; the errors of `ProviderClient.useAndWait(_:)`.
    package func result(of use: PrivateKeyUse) throws -> SecretBytes? {
        let (algorithm, data) = try SecKeyAlgorithm.of(use)
        let use = TokenUse(objectID: identity.entry.objectID, algorithm, data: data)
        do {
            let result = try client.useAndWait(use)
            try requireProof(result, of: use)
            return result
        } catch let error as TokenError where algorithm.operation == .decrypt {
            switch error.obstacle {
            case .undecryptable, .wrongLength: return nil
            default: throw error
            }
        }
    }
}

// MARK: - Proof of possession

extension TokenPrivateKey {
    /// Uses the key to check that it belongs to the certificate. The key signs random bytes. If it cannot
    /// sign, it decrypts random bytes that were encrypted for the certificate.
    ///
    /// The provider must be running, and it may ask the user for consent.
    ///
    /// - Throws: `TokenError` if the key cannot be used; the errors of `ProviderClient.use(_:)`, `ProviderFailure` and
    ///   `SocketError`.
    package func provesPossession() async throws -> Bool {
        let entry = identity.entry
        var random = RandomSource.system.generator()
        let challenge = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        let isRSA = entry.keyFamily == .rsa
        if entry.properties.canSign {
            let algorithm: SecKeyAlgorithm =
                isRSA ? .rsaSignaturePKCS1v15(.message, .sha256) : .ecdsaSignatureX962(.message, .sha256)
            let signature = try await client.use(
                TokenUse(objectID: entry.objectID, algorithm, data: challenge))
            return try verifies(signature, of: challenge, algorithm)
        }
        let algorithm: SecKeyAlgorithm =
            isRSA
            ? .rsaEncryptionOAEP(.sha256) : .eciesEncryption(isCofactor: false, .sha256, hasVariableIV: false)
        let ciphertext = try publicKey.encrypt(SecretBytes(challenge), algorithm)
        do {
            let plaintext = try await client.use(
                TokenUse(objectID: entry.objectID, algorithm, data: ciphertext))
            return plaintext == SecretBytes(challenge)
        } catch let error as TokenError where error.obstacle == .undecryptable {
            // Decryption fails if the key belongs to another certificate.
            return false
        }
    }

    /// Verifies a signature with the certificate's public key, before it is used.
    ///
    /// - Parameters:
    ///   - result: The token's result.
    ///   - use: The key use. Results of other operations are not checked.
    /// - Throws: `UnprovedSignature` if the signature does not verify; `TokenError`.
    package func requireProof(_ result: SecretBytes, of use: TokenUse) throws {
        guard use.operation == .sign, let algorithm = SecKeyAlgorithm(named: use.algorithm) else { return }
        guard try verifies(result, of: use.data, algorithm) else { throw UnprovedSignature() }
    }

    private func verifies(
        _ signature: SecretBytes, of data: [UInt8], _ algorithm: SecKeyAlgorithm
    ) throws -> Bool {
        try signature.withTransientArray { try publicKey.verify($0, of: data, algorithm) }
    }
}

extension TokenError: ExternalKeyError {
    /// Whether the user has granted the app no key of this alias, but perhaps those of others.
    package var concernsOnlyThisKey: Bool { obstacle == .noKeyGrant }
}
