internal import Diagnostics
internal import CertificateReading
package import KeyShareProvider
internal import DeviceSimulation
internal import KeySharing
package import OpenSSL

/// The material of a test vector, to be written to a file or put into a keychain.
package struct MadeTestVector: Sendable {
    /// The test vector that it was made from.
    package let vector: TestVector
    private let output: TestVector.Output
    private let context: TestVectorContext

    init(vector: TestVector, output: TestVector.Output, context: TestVectorContext) {
        self.vector = vector
        self.output = output
        self.context = context
    }

    /// The identities that a keychain can hold; empty for a file that no provider would publish.
    package var identities: [TestIdentity] {
        if case .identities(let identities, _) = output { identities } else { [] }
    }

    /// The certificates that stand on their issuer's revocation list.
    package var revoked: [Certificate] {
        if case .identities(let identities, isRevoked: true) = output {
            identities.map(\.certificate)
        } else {
            []
        }
    }

    /// Makes the file of the test vector, under the context's password: all identities in one PKCS #12 file, or the
    /// bytes as they are.
    ///
    /// - Returns: the name of the file, which is the test vector's with an extension, and its bytes.
    /// - Throws: `PKCS12Error` or `OpenSSLError` where the file cannot be made.
    package func file() throws -> (name: String, bytes: [UInt8]) {
        switch output {
        case .file(let bytes, let suffix): ("\(vector.name).\(suffix)", bytes)
        case .identities(let identities, _):
            if let identity = identities.first, identities.count == 1 {
                ("\(vector.name).p12", try context.file(identity))
            } else {
                ("\(vector.name).p12", try context.file(identities))
            }
        }
    }

    /// Notes in the authorities' register what was issued and what is revoked, for certificates that no keychain holds
    /// and whose status can be asked for all the same.
    ///
    /// - Throws: `KeychainError` where the register cannot be written.
    package func register(in store: ProviderStore) throws {
        try store.register(issued: context.issued, revoked: revoked, at: context.date)
    }

    /// Makes sure that a keychain can hold the test vector.
    ///
    /// - Parameter publication: where the identities shall go.
    /// - Throws: `ProvisioningError`: `.faultNeedsFile` for a file that no keychain can hold; `.faultOfFile` for one that
    ///   was to be a token alone.
    package func requireKeychain(for publication: IdentityPublication = .keySharing) throws {
        guard case .file = output else { return }
        switch publication {
        case .keySharing:
            throw ProvisioningError(
                .faultNeedsFile, "a keychain cannot hold the fault \u{201C}\(vector.name)\u{201D}")
        case .tokenOnly:
            throw ProvisioningError(
                .faultOfFile,
                "the fault \u{201C}\(vector.name)\u{201D} is one of a file, and a token alone is never in a file"
            )
        }
    }

    /// Adds the identities to a keychain, and notes in the authorities' register which are revoked.
    ///
    /// - Parameters:
    ///   - store: the provider's keychain.
    ///   - publication: where in the keychain they go.
    /// - Returns: what was added, and how many identities the keychain held already.
    /// - Throws: `ProvisioningError` as `requireKeychain(for:)`; `KeychainError` where the identities or the register cannot
    ///   be written.
    package func install(
        into store: ProviderStore, as publication: IdentityPublication = .keySharing
    ) throws -> Provisioner.Outcome {
        try requireKeychain(for: publication)
        var outcome = Provisioner.Outcome()
        for (identity, isNew) in zip(identities, try add(to: store, as: publication)) {
            if isNew {
                outcome.add(made: [IdentitySummary(identity.certificate)])
            } else {
                outcome.skipped += 1
            }
        }
        if !revoked.isEmpty { try store.register(revoked: revoked, at: context.date) }
        return outcome
    }

    /// Adds the identities, and tells of each whether it was new.
    private func add(to store: ProviderStore, as publication: IdentityPublication) throws -> [Bool] {
        switch publication {
        case .keySharing:
            return try store.add(identities.map { ($0.certificate, $0.privateKey) }).map { try $0.isNew() }
        case .tokenOnly:
            let tokens = TokenStore(store)
            return try identities.map { identity in
                guard try tokens.registration(identity.certificate.label) == nil else { return false }
                try store.add([try store.prepare(identity.certificate, identity.privateKey)], as: publication)
                return true
            }
        }
    }
}
