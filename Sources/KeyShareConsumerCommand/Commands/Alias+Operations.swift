import ArgumentParser
import CommandSupport
import Foundation
import KeyOperations
import KeyShareClient
import KeyShareConsumer
internal import KeyShareProtocol
import KeySharing
import PersistentToken
import SecretMemory

/// The options that select an alias and an algorithm.
struct AliasUseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The alias. (default: the one for this purpose, as in alias choose)", valueName: "name"),
        completion: .sharedAliases)
    var alias: String?

    @Option(
        help: ArgumentHelp(
            "The algorithm, by the name or value of its Security framework constant, ignoring case; token sign --help lists them.",
            valueName: "name"), completion: .list(SecKeyAlgorithm.allCases.map(\.name)),
        transform: AlgorithmName.parse)
    var algorithm: SecKeyAlgorithm?

    @OptionGroup var clock: ClockOptions
    @OptionGroup var access: TokenAccessOptions

    /// Runs `body` with the identity of the alias.
    ///
    /// - Throws: `CommandFailure` (9) if no alias serves the purpose; the errors of `withAliases` and of `body`.
    func withIdentity<Result>(
        for purpose: AliasPick.Purpose, _ body: (ProviderClient, TokenIdentity) async throws -> Result
    ) async throws -> Result {
        try await access.withAliases { client, keychain in
            let name = try alias ?? keychain.pick(purpose, at: clock.now).required()[0]
            let member = keychain.members.first { $0.entry.alias.utf8.elementsEqual(name.utf8) }
            guard let member else {
                throw TokenError(
                    .objectNotFound, "the provider shares no alias \u{201C}\(name)\u{201D}",
                    obstacle: .aliasNotFound)
            }
            return try await body(client, member.identity)
        }
    }
}

extension Alias {
    struct Sign: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sign",
            abstract: "Sign a file with an alias's key, and verify the signature with the certificate.",
            discussion: """
                The default algorithm is RSASignatureMessagePKCS1v15SHA256, or ECDSASignatureMessageX962SHA256 for an \
                elliptic-curve key.

                EXAMPLE:
                  keyshare-consumer alias sign letter.txt -o letter.sig
                """)

        @Argument(help: "The file to sign, or - for standard input.", completion: .file())
        var file = "-"

        @OptionGroup var use: AliasUseOptions
        @OptionGroup var destination: DestinationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let console = output.console
            try destination.requireFree()
            let data = try InputFile.read(file, limit: TokenUseOptions.largestFile)
            let (alias, algorithm, signature) = try await use.withIdentity(for: .signing) {
                client, identity in
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
                return (identity.entry.label, algorithm, signature.withTransientArray { Array($0) })
            }
            if !output.json || destination.output != nil {
                try destination.write(signature, console, isBinary: true)
            }
            if output.json {
                try console.document(
                    AliasUseDocument(
                        alias: alias, operation: "sign", algorithm: algorithm.name, signature: signature))
            }
        }
    }

    struct Decrypt: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "decrypt",
            abstract: "Decrypt a file with an alias's key.",
            discussion: """
                The file must contain the output of a cipher, not an S/MIME message (keyshare-consumer decrypt \
                --alias). The default algorithm is RSAEncryptionPKCS1, or ECIESEncryptionStandardX963SHA256AESGCM for \
                an elliptic-curve key.

                EXAMPLE:
                  keyshare-consumer alias decrypt secret.bin -o secret.txt
                """)

        @Argument(help: "The file to decrypt, or - for standard input.", completion: .file())
        var file = "-"

        @OptionGroup var use: AliasUseOptions
        @OptionGroup var destination: DestinationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let console = output.console
            if output.json { try destination.requireFile() }
            try destination.requireFree()
            let data = try InputFile.read(file, limit: TokenUseOptions.largestFile)
            let (alias, algorithm, plaintext) = try await use.withIdentity(for: .decryption) {
                client, identity in
                let algorithm =
                    use.algorithm
                    ?? (identity.entry.keyFamily == .rsa
                        ? .rsaEncryptionPKCS1
                        : .eciesEncryption(isCofactor: false, .sha256, hasVariableIV: false))
                let use = TokenUse(
                    objectID: identity.entry.objectID, operation: .decrypt, algorithm: algorithm.name,
                    data: data)
                return (identity.entry.label, algorithm, try await client.use(use))
            }
            try plaintext.withTransientArray { bytes in
                try destination.write(bytes, console, isBinary: true)
            }
            if output.json {
                try console.document(
                    AliasUseDocument(
                        alias: alias, operation: "decrypt", algorithm: algorithm.name, signature: nil))
            }
        }
    }
}
