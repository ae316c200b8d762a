internal import CertificateReading
internal import DeviceSimulation
package import KeyShareProvider
internal import KeySharing
package import OpenSSL
internal import SimulatedKeychain
package import TestCredentials

/// The generated material of a test vector, which can be written to a file or stored in a keychain.
package struct MadeTestVector: Sendable {
    /// The test vector that defines the material.
    package let vector: TestVector
    private let output: TestVector.Output
    private let context: TestVectorContext

    init(vector: TestVector, output: TestVector.Output, context: TestVectorContext) {
        self.vector = vector
        self.output = output
        self.context = context
    }

    /// The identities, which a keychain can store. Empty if the material is a file that no provider would publish.
    package var identities: [TestIdentity] {
        if case .identities(let identities, _) = output { identities } else { [] }
    }

    /// The certificates that the issuer's revocation list must contain.
    package var revoked: [Certificate] {
        if case .identities(let identities, isRevoked: true) = output {
            identities.map(\.certificate)
        } else {
            []
        }
    }

    /// Creates the file of the test vector, encrypted with the context's password: all identities in one PKCS #12 file,
    /// or the bytes of a file unchanged.
    ///
    /// - Returns: The file's name and bytes.
    /// - Throws: `PKCS12Error` or `OpenSSLError` if the file cannot be created.
    package func file() throws -> (name: String, bytes: [UInt8]) {
        let bytes =
            switch output {
            case .file(let bytes): bytes
            case .identities(let identities, _):
                if let identity = identities.first, identities.count == 1 {
                    try context.file(identity)
                } else {
                    try context.file(identities)
                }
            }
        return (vector.fileName, bytes)
    }

    /// Records the issued and the revoked certificates in the authorities' register, so that the authorities can report
    /// their status although no keychain contains them.
    ///
    /// - Throws: `KeychainError` if the register cannot be written.
    package func register(in store: ProviderStore) throws {
        try ProvisioningStore(store).register(issued: context.issued, revoked: revoked, at: context.date)
    }

    /// Checks that a keychain can store the test vector.
    ///
    /// - Parameter publication: The part of the keychain that receives the identities.
    /// - Throws: `ProvisioningError`: `.faultNeedsFile` if the test vector is a file, which no keychain can store;
    ///   `.faultOfFile` instead if `publication` is `.tokenOnly`.
    package func requireKeychain(for publication: IdentityPublication = .keySharing) throws {
        guard case .file = output else { return }
        switch publication {
        case .keySharing:
            throw ProvisioningError(
                .faultNeedsFile,
                "the fault \u{201C}\(vector.name)\u{201D} concerns whole files, so a keychain cannot contain it"
            )
        case .tokenOnly:
            throw ProvisioningError(
                .faultOfFile,
                "the fault \u{201C}\(vector.name)\u{201D} concerns files, but a token-only identity is never exported"
            )
        }
    }

    /// Adds the identities to a keychain and records the revoked ones in the authorities' register.
    ///
    /// - Parameters:
    ///   - store: The provider's keychain.
    ///   - publication: The part of the keychain that receives the identities.
    /// - Returns: The identities that were added, and the number of identities that the keychain already contained.
    /// - Throws: `ProvisioningError` like `requireKeychain(for:)`. `KeychainError` if the identities or the register
    ///   cannot be written.
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
        if !revoked.isEmpty { try ProvisioningStore(store).register(revoked: revoked, at: context.date) }
        return outcome
    }

    /// Adds the identities to a keychain. Returns for each identity whether it was new there.
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
