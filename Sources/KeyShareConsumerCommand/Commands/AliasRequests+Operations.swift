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

    /// Runs `body` with the key of the alias.
    ///
    /// - Throws: `CommandFailure` (9) if no alias serves the purpose; the errors of `withAliases` and of `body`.
    func withKey<Result>(
        for purpose: AliasPick.Purpose, _ body: (ProviderKey) async throws -> Result
    ) async throws -> Result {
        try await access.withAliases { client, keychain in
            let name = try alias ?? keychain.pick(purpose, at: clock.now).required()[0]
            let member = keychain.members.first { $0.entry.alias.utf8.elementsEqual(name.utf8) }
            guard let member else {
                throw TokenError(
                    .objectNotFound, "the provider shares no alias \u{201C}\(name)\u{201D}",
                    obstacle: .aliasNotFound)
            }
            return try await body(
                ProviderKey(
                    member.identity, through: client, to: purpose == .signing ? .sign : .decrypt,
                    with: algorithm))
        }
    }
}

extension AliasRequests {
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
        @OptionGroup var result: KeyFileOptions

        func run() async throws {
            let (console, destination) = (result.output.console, result.destination)
            let data = try result.read(file)
            let (key, signature) = try await use.withKey(for: .signing) { ($0, try await $0.sign(data)) }
            if !result.output.json || destination.output != nil {
                try destination.write(signature, console, isBinary: true)
            }
            if result.output.json {
                try console.document(
                    AliasUseDocument(
                        alias: key.identity.entry.label, operation: "sign", algorithm: key.algorithm.name,
                        signature: signature))
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
        @OptionGroup var result: KeyFileOptions

        func run() async throws {
            let data = try result.read(file, isSecret: true)
            let (key, plaintext) = try await use.withKey(for: .decryption) {
                ($0, try await $0.decrypt(data))
            }
            let console = result.output.console
            try plaintext.withTransientArray { bytes in
                try result.destination.write(bytes, console, isBinary: true)
            }
            if result.output.json {
                try console.document(
                    AliasUseDocument(
                        alias: key.identity.entry.label, operation: "decrypt", algorithm: key.algorithm.name,
                        signature: nil))
            }
        }
    }
}
