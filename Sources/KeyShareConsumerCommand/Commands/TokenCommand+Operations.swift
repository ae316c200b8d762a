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
}

extension TokenCommand {
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
        @OptionGroup var result: KeyFileOptions

        func run() async throws {
            let (console, destination) = (result.output.console, result.destination)
            let data = try result.read(file)
            let (key, signature) = try await use.access.withTokens { client, keychain in
                let identity = try keychain.choose(use.identity, or: .canSign)
                let key = ProviderKey(identity, through: client, to: .sign, with: use.algorithm)
                return (key, try await key.sign(data))
            }
            if result.output.json {
                if destination.output != nil { try destination.write(signature, console, isBinary: true) }
                try console.document(TokenUseDocument(key, result: signature))
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
        @OptionGroup var result: KeyFileOptions

        func run() async throws {
            let data = try result.read(file, isSecret: true)
            let (key, plaintext) = try await use.access.withTokens { client, keychain in
                let identity = try keychain.choose(use.identity, or: .canDecrypt)
                let key = ProviderKey(identity, through: client, to: .decrypt, with: use.algorithm)
                return (key, try await key.decrypt(data))
            }
            let console = result.output.console
            try plaintext.withTransientArray { bytes in
                try result.destination.write(bytes, console, isBinary: true)
            }
            if result.output.json { try console.document(TokenUseDocument(key, result: nil)) }
        }
    }
}

extension TokenUseDocument {
    /// Creates the document for a key use; `result` is the signature, or nil after a decryption.
    init(_ key: ProviderKey, result: [UInt8]?) {
        self.init(
            IdentityDocument(key.identity.summary), tokenID: key.identity.entry.tokenID,
            operation: "\(key.algorithm.operation)", algorithm: key.algorithm.name,
            signature: result.map { Data($0) })
    }
}
