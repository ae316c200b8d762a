import ArgumentParser
import CommandSupport
import DeviceSimulation
import KeyShareClient
import KeyShareConsumer
import KeySharing
import PersistentToken
import PrivateFiles

struct Token: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Use the keys of persistent tokens, which stay with the provider.",
        discussion: """
            The provider registers them (keyshare-provider token add) and uses them while it serves. The first use \
            of a key asks the user (keyshare-device presence).

            EXAMPLE:
              keyshare-consumer token list
              keyshare-consumer token sign letter.txt -o letter.sig
              keyshare-consumer token matrix
            """,
        subcommands: [List.self, Sign.self, Decrypt.self, Matrix.self])
}

/// How a command finds tokens and the provider that uses them.
struct TokenAccessOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The entitlements of the app that asks, a property list. (default: those of the consumer's app)",
            valueName: "file"), completion: .file())
    var entitlements: String?

    @OptionGroup var device: DeviceOptions
    @OptionGroup var socket: SocketOptions

    /// Connects to the provider, reads the tokens, and runs `body` with both.
    ///
    /// - Throws: `TokenError`, `ProviderFailure`, `SocketError`, `CertificateError`, `DeviceError`, `CommandFailure`,
    ///   and what `body` throws.
    func withTokens<Result>(
        _ body: (ProviderClient, TokenKeychain) async throws -> Result
    ) async throws -> Result {
        let entitlements = try entitlements.map {
            try Entitlements(plist: InputFile.read($0, limit: Entitlements.largestFile))
        }
        return try await ProviderClient.withConnection(path: try socket.path(in: device)) { client in
            try await body(
                client,
                try await TokenKeychain(client, entitlements: entitlements ?? App.consumer.entitlements))
        }
    }
}

extension TokenAccessOptions {
    /// Runs `body` with the token's identity that a user names, where the app's own keychain has none of that name. A
    /// search without a group finds tokens last.
    ///
    /// - Parameters:
    ///   - name: what the user wrote.
    ///   - missing: why the keychain gave nothing.
    ///   - body: gets the connection to the provider, and the identity.
    /// - Throws: `missing`, with advice, where no token has the name, and where tokens cannot be had: no provider serves, or
    ///   the app is not entitled to them. `RequestError` `.ambiguousLabel` for a name of several; `ProviderFailure`,
    ///   `SocketError`, `CertificateError`, `DeviceError`; what `body` throws.
    func withToken<Result>(
        named name: String, insteadOf missing: RequestError,
        _ body: (ProviderClient, TokenIdentity) async throws -> Result
    ) async throws -> Result {
        do {
            return try await withTokens { client, keychain in
                let identity: TokenIdentity
                do {
                    identity = try keychain.identity(named: name)
                } catch let error as RequestError where error.code == .noSuchIdentity {
                    throw CommandFailure(missing).advising(
                        "what there is: keyshare-consumer list, and keyshare-consumer token list --all")
                }
                return try await body(client, identity)
            }
        } catch let error as TokenError where error.obstacle == .notEntitled {
            throw CommandFailure(missing)
        } catch  where TokenKeychain.isEmpty(after: error) {
            throw CommandFailure(missing).advising(
                "what it holds: keyshare-consumer list; a token\u{2019}s are found while the provider serves")
        }
    }
}

extension TokenKeychain {
    /// The identity that a user names, or else the first that a query finds, as the sample consumer takes it.
    ///
    /// - Throws: `RequestError` for a name of none or of several; `CommandFailure` (9) where there is none.
    func choose(_ name: String?, or query: Query) throws -> TokenIdentity {
        if let name { return try identity(named: name) }
        guard let first = identities(query).first else {
            throw CommandFailure(
                .noSuchItem, "no token's key can do this",
                hint: "register one: keyshare-provider token add --all")
        }
        return first
    }
}

extension TokensDocument.Token {
    /// Describes a token as the consumer finds it.
    init(_ identity: TokenIdentity) {
        let entry = identity.entry
        self.init(
            identity.summary, keyType: entry.keyFamily.rawValue, keyBits: entry.keyBits,
            properties: entry.properties, hasKey: entry.hasKey, rule: entry.rule)
    }
}

extension SecKeyAlgorithm: ExpressibleByArgument {
    /// Reads the name of a constant of the Security framework, or its value.
    init?(argument: String) {
        self.init(named: argument)
    }
}

extension Token {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the identities of tokens, as an app finds them in the group com.apple.token.",
            discussion: """
                Two queries are made, as in the sample consumer: for keys that sign, and for keys that decrypt. A key whose \
                certificate says nothing of its usage is found by neither; --all lists it too.

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
                let found = keychain.identities().filter { all || labels.contains($0.entry.objectID) }
                return (found, (signing: signing.count, decrypting: decrypting.count))
            }
            let tokens = found.map(TokensDocument.Token.init)
            try console.present(TokensDocument(tokens: tokens)) {
                try console.table(of: tokens)
                console.note("\(counts.signing) can sign, \(counts.decrypting) can decrypt")
            }
        }
    }
}
