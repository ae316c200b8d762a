import ArgumentParser
import CommandSupport
import KeyShareClient
import KeyShareConsumer
internal import KeyShareProtocol
import OpenSSL
import PersistentToken
import SecretMemory

/// The options for the output of `sign` and `decrypt` with a key at the provider.
struct KeyFileOptions: ParsableArguments {
    @OptionGroup var destination: DestinationOptions
    @OptionGroup var output: OutputOptions

    /// Reads the file to sign or decrypt. Checks the destination first.
    ///
    /// - Parameters:
    ///   - path: The path of the file, or `-`.
    ///   - isSecret: Whether the result is too secret for the document of `--json`, which then requires `-o`.
    /// - Throws: `CommandFailure`.
    func read(_ path: String, isSecret: Bool = false) throws -> [UInt8] {
        if isSecret, output.json { try destination.requireFile() }
        try destination.requireFree()
        return try InputFile.read(path, limit: Self.largestFile)
    }

    /// The maximum size, in bytes, of a file to sign or decrypt.
    private static let largestFile = 64 << 20
}

/// A key at the provider, of a token or of an alias, and the algorithm for its use.
struct ProviderKey {
    /// The identity of the key.
    let identity: TokenIdentity
    /// The algorithm.
    let algorithm: SecKeyAlgorithm
    private let client: ProviderClient

    /// Selects the algorithm for a use.
    ///
    /// - Parameters:
    ///   - identity: The identity of the key.
    ///   - client: A connection to the provider.
    ///   - operation: The operation of the default algorithm: `.sign` or `.decrypt`.
    ///   - algorithm: The algorithm; nil for the default of the key's family.
    init(
        _ identity: TokenIdentity, through client: ProviderClient, to operation: TokenOperation,
        with algorithm: SecKeyAlgorithm?
    ) {
        self.identity = identity
        self.client = client
        let isRSA = identity.entry.keyFamily == .rsa
        let usual: SecKeyAlgorithm =
            if operation == .sign {
                isRSA ? .rsaSignaturePKCS1v15(.message, .sha256) : .ecdsaSignatureX962(.message, .sha256)
            } else {
                isRSA
                    ? .rsaEncryptionPKCS1
                    : .eciesEncryption(isCofactor: false, .sha256, hasVariableIV: false)
            }
        self.algorithm = algorithm ?? usual
    }

    /// Signs data, and verifies the signature with the certificate.
    ///
    /// - Throws: `CommandFailure` if the signature does not verify; `TokenError`, `ProviderFailure`, `SocketError`.
    func sign(_ data: [UInt8]) async throws -> [UInt8] {
        let use = TokenUse(
            objectID: identity.entry.objectID, operation: .sign, algorithm: algorithm.name, data: data)
        let signature = try await client.use(use)
        do {
            try TokenPrivateKey(identity, through: client).requireProof(signature, of: use)
        } catch is TokenPrivateKey.UnprovedSignature {
            throw CommandFailure.unprovedSignature
        }
        return signature.withTransientArray { Array($0) }
    }

    /// Decrypts data.
    ///
    /// - Throws: `TokenError`, `ProviderFailure`, `SocketError`.
    func decrypt(_ data: [UInt8]) async throws -> SecretBytes {
        try await client.use(
            TokenUse(
                objectID: identity.entry.objectID, operation: .decrypt, algorithm: algorithm.name, data: data)
        )
    }
}
