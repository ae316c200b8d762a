import ArgumentParser
import CommandSupport
import DeviceSimulation
import KeyShareClient
import KeyShareConsumer
internal import KeyShareProtocol
import KeySharing
import PersistentToken
import PrivateFiles
import SimulatedKeychain

/// The options for access to tokens and to their provider.
struct TokenAccessOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A property list with the requesting app's entitlements. (default: those of the consumer's app)",
            valueName: "file"), completion: .file())
    var entitlements: String?

    @OptionGroup var device: DeviceOptions
    @OptionGroup var socket: SocketOptions

    /// Connects to the provider, reads the tokens, and runs `body` with both.
    ///
    /// - Throws: `TokenError`, `ProviderFailure`, `SocketError`, `CertificateError`, `DeviceError`, `CommandFailure`,
    ///   and any error that `body` throws.
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
    /// Connects to the provider as an Android app, queries the aliases, and runs `body` with both.
    ///
    /// - Throws: `TokenError`, `ProviderFailure`, `SocketError`, `CertificateError`, and any error that `body` throws.
    func withAliases<Result>(
        _ body: (ProviderClient, AliasKeychain) async throws -> Result
    ) async throws -> Result {
        try await ProviderClient.withConnection(
            path: try socket.path(in: device), clientName: App.consumer.bundleIdentifier
        ) { client in
            try await body(client, try await AliasKeychain(client))
        }
    }

    /// Runs `body` with the token's identity of this name. Called if the app's own keychain has no match, because a
    /// search without an access group finds tokens last.
    ///
    /// - Parameters:
    ///   - name: The name as entered by the user.
    ///   - missing: The error of the search in the keychain.
    ///   - body: Receives the connection to the provider and the identity.
    /// - Throws: `missing`, with advice, if no token has the name or tokens are unavailable, because no provider is
    ///   running or the app is not entitled to them. `RequestError` `.ambiguousLabel` if the name is ambiguous;
    ///   `ProviderFailure`, `SocketError`, `CertificateError`, `DeviceError`; any error that `body` throws.
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
                        "to see all labels: keyshare-consumer list, and keyshare-consumer token list --all")
                }
                return try await body(client, identity)
            }
        } catch let error as TokenError where error.obstacle == .notEntitled {
            throw CommandFailure(missing)
        } catch  where TokenKeychain.isEmpty(after: error) {
            throw CommandFailure(missing).advising(
                "to list the identities: keyshare-consumer list; those of tokens require a running provider")
        }
    }
}
