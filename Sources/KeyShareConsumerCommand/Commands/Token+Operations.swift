import ArgumentParser
import CommandSupport
import Foundation
import KeyOperations
import KeyShareClient
import KeyShareConsumer
internal import KeyShareProtocol
import KeySharing
import OpenSSL
import PersistentToken
import SecretMemory

/// The options that select a key and an algorithm.
struct TokenUseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The identity, by label or serial number, or by a unique prefix. (default: the first suitable one)",
            valueName: "label"), completion: .tokenLabels)
    var identity: String?

    @Option(
        help: ArgumentHelp(
            "The algorithm, by the name or value of its Security framework constant, ignoring case; see the list above.",
            valueName: "name"), completion: .list(SecKeyAlgorithm.allCases.map(\.name)),
        transform: AlgorithmName.parse)
    var algorithm: SecKeyAlgorithm?

    @OptionGroup var access: TokenAccessOptions

    /// The maximum size, in bytes, of a file to sign or decrypt.
    static let largestFile = 64 << 20
}

extension Token {
    struct Sign: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sign",
            abstract: "Sign a file with a token's key, and verify the signature with the certificate.",
            discussion: """
                The default algorithm is RSASignatureMessagePKCS1v15SHA256, or ECDSASignatureMessageX962SHA256 for an \
                elliptic-curve key. An algorithm with Digest in its name expects the digest instead of the message.

                \(AlgorithmName.list)

                EXAMPLE:
                  keyshare-consumer token sign letter.txt -o letter.sig
                  keyshare-consumer token sign --json \\
                    --algorithm RSASignatureMessagePSSSHA256 < letter.txt
                """)

        @Argument(help: "The file to sign, or - for standard input.", completion: .file())
        var file = "-"

        @OptionGroup var use: TokenUseOptions
        @OptionGroup var destination: DestinationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let console = output.console
            try destination.requireFree()
            let data = try InputFile.read(file, limit: TokenUseOptions.largestFile)
            let (identity, algorithm, signature) = try await use.access.withTokens { client, keychain in
                let identity = try keychain.choose(use.identity, or: .canSign)
                let algorithm =
                    use.algorithm
                    ?? (identity.entry.keyFamily == .rsa
                        ? .rsaSignaturePKCS1v15(.message, .sha256) : .ecdsaSignatureX962(.message, .sha256))
                let use = TokenUse(
                    objectID: identity.entry.objectID, operation: .sign, algorithm: algorithm.name, data: data
                )
                let signature = try await client.use(use)
                do {
                    try TokenPrivateKey(identity, through: client).requireProof(signature, of: use)
                } catch is TokenPrivateKey.UnprovedSignature {
                    throw CommandFailure.unprovedSignature
                }
                return (identity, algorithm, signature.withTransientArray { Array($0) })
            }
            if output.json {
                if destination.output != nil { try destination.write(signature, console, isBinary: true) }
                try console.document(TokenUseDocument(identity, algorithm, result: signature))
            } else {
                try destination.write(signature, console, isBinary: true)
            }
        }
    }

    struct Decrypt: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "decrypt",
            abstract: "Decrypt a file with a token's key.",
            discussion: """
                The file must contain the output of SecKeyCreateEncryptedData, not an S/MIME message. The default \
                algorithm is RSAEncryptionPKCS1, or ECIESEncryptionStandardX963SHA256AESGCM for an elliptic-curve key.

                \(AlgorithmName.list)

                EXAMPLE:
                  keyshare-consumer token decrypt secret.bin -o secret.txt \\
                    --algorithm RSAEncryptionOAEPSHA256AESGCM
                """)

        @Argument(help: "The file to decrypt, or - for standard input.", completion: .file())
        var file = "-"

        @OptionGroup var use: TokenUseOptions
        @OptionGroup var destination: DestinationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let console = output.console
            if output.json { try destination.requireFile() }
            try destination.requireFree()
            let data = try InputFile.read(file, limit: TokenUseOptions.largestFile)
            let (identity, algorithm, plaintext) = try await use.access.withTokens { client, keychain in
                let identity = try keychain.choose(use.identity, or: .canDecrypt)
                let algorithm =
                    use.algorithm
                    ?? (identity.entry.keyFamily == .rsa
                        ? .rsaEncryptionPKCS1
                        : .eciesEncryption(isCofactor: false, .sha256, hasVariableIV: false))
                let use = TokenUse(
                    objectID: identity.entry.objectID, operation: .decrypt, algorithm: algorithm.name,
                    data: data)
                return (identity, algorithm, try await client.use(use))
            }
            try plaintext.withTransientArray { bytes in
                try destination.write(bytes, console, isBinary: true)
            }
            if output.json { try console.document(TokenUseDocument(identity, algorithm, result: nil)) }
        }
    }
}

extension TokenUseDocument {
    /// Creates the document for a key use; `result` is the signature, or nil after a decryption.
    init(_ identity: TokenIdentity, _ algorithm: SecKeyAlgorithm, result: [UInt8]?) {
        self.init(
            IdentityDocument(identity.summary), tokenID: identity.entry.tokenID,
            operation: "\(algorithm.operation)", algorithm: algorithm.name, signature: result.map { Data($0) }
        )
    }
}
