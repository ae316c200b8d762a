import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import KeyShareClient
import KeyShareConsumer
import KeySharing
import OpenSSL
import PersistentToken
import PrivateFiles

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Use the keys of persistent tokens, which never leave the provider.",
        discussion: """
            The provider registers the keys (keyshare-provider token add) and must be running when you use them. The \
            first use of a key asks the user for consent (keyshare-device presence).

            EXAMPLE:
              keyshare-consumer token list
              keyshare-consumer token sign letter.txt -o letter.sig
              keyshare-consumer token matrix
            """,
        subcommands: [List.self, Sign.self, Decrypt.self, Matrix.self])
}

extension TokenKeychain {
    /// Returns the identity with this name. Without a name, returns the first identity that a query finds, as in the
    /// sample consumer.
    ///
    /// - Throws: `RequestError` if the name is ambiguous; `CommandFailure` (9) if no identity matches.
    func choose(_ name: String?, or query: Query) throws -> TokenIdentity {
        if let name { return try identity(askedFor: name) }
        guard let first = identities(query).first else {
            let tokens = identities().map(TokensDocument.Token.init)
            throw CommandFailure(
                .noSuchItem, "no token has a key that permits this operation",
                hint: tokens.remedyForMissingUsage ?? "register one: keyshare-provider token add --all")
        }
        return first
    }

    /// Returns the identity with this name.
    ///
    /// - Throws: `CommandFailure` (9) if no token matches, `RequestError` if the name is ambiguous.
    func identity(askedFor name: String) throws -> TokenIdentity {
        do {
            return try identity(named: name)
        } catch let error as RequestError where error.code == .noSuchIdentity {
            throw CommandFailure(error)
                .saying("no token has the label or serial number \u{201C}\(name)\u{201D}")
                .advising("to list the tokens: keyshare-consumer token list --all")
        }
    }
}

extension TokensDocument.Token {
    /// Creates the entry for a token as it appears to the consumer.
    init(_ identity: TokenIdentity) {
        let entry = identity.entry
        self.init(
            identity.summary, keyType: entry.keyFamily.rawValue, keyBits: entry.keyBits,
            properties: entry.properties, usage: identity.certificate.keyUsage, hasKey: entry.hasKey,
            rule: entry.rule)
    }
}

extension TokenCommand {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the identities of tokens that an app finds in the group com.apple.token.",
            discussion: """
                The command makes two queries, as the sample consumer does: for keys that sign, and for keys that \
                decrypt. A key whose certificate permits no operation is found by neither query, but it is listed with \
                the reason. A key that only permits key agreement is listed with --all.

                EXAMPLE:
                  keyshare-consumer token list --json
                """)

        @Flag(help: "List every identity of the group.")
        var all = false

        @OptionGroup var access: TokenAccessOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let console = output.console
            let (found, counts) = try await access.withTokens { _, keychain in
                let signing = keychain.identities(.canSign)
                let decrypting = keychain.identities(.canDecrypt)
                let labels = Set((signing + decrypting).map(\.entry.objectID))
                let found = keychain.identities().filter { identity in
                    all || labels.contains(identity.entry.objectID) || identity.entry.properties.isEmpty
                }
                let counts = (
                    signing: signing.count(where: \.entry.hasKey),
                    decrypting: decrypting.count(where: \.entry.hasKey)
                )
                return (found, counts)
            }
            let tokens = found.map(TokensDocument.Token.init)
            try console.present(TokensDocument(tokens: tokens)) {
                try console.table(of: tokens)
                let gone = tokens.count { !$0.keyPresent }
                console.note(
                    "\(counts.signing) can sign, \(counts.decrypting) can decrypt"
                        + (gone == 0 ? "" : "; \(counted(gone, "key is gone", "keys are gone"))"))
                console.note(ofMissingUsage: tokens)
            }
        }
    }
}
