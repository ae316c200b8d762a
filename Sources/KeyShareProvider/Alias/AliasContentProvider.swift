internal import DeviceSimulation
package import Foundation
internal import KeyOperations
internal import KeyShareProtocol
package import KeyShareServer
package import KeyShareWire
internal import KeySharing
internal import OpenSSL
package import PersistentToken
internal import SimulatedKeychain
private import Synchronization

/// The content provider that shares aliases, and Android's KeyChain, whose keys it uses on behalf of other apps. Keys
/// never leave it.
///
/// On Android, the system performs key uses, also while the provider's app is stopped. Here the provider hosts them.
package final class AliasContentProvider: AliasService {
    /// The entries at one moment.
    private struct Snapshot {
        let changeCount: Int64
        let entries: [AliasEntry]
    }

    private let store: ProviderStore
    private let aliases: AliasStore
    private let access: AliasAccess
    private let presence: UserPresence
    private let isLikeTheSample: Bool
    private let presenceTimeout: Duration
    private let now: @Sendable () -> Date
    private let sleep: @Sendable (Duration) async throws -> Void
    private let known = Mutex<Snapshot?>(nil)

    /// Creates a content provider for the entries of a device's KeyChain.
    ///
    /// - Parameters:
    ///   - store: The provider's keychain.
    ///   - isLikeTheSample: Whether queries have the sample provider's defects.
    ///   - presenceTimeout: How long a prompt waits for the user.
    ///   - now: The clock for the times of broadcasts.
    ///   - sleep: Waits; throws `CancellationError` if the task is cancelled.
    /// - Throws: `KeychainError`, `FileError` if KeyChain or the user's decisions cannot be opened.
    package init(
        _ store: ProviderStore, isLikeTheSample: Bool = false, presenceTimeout: Duration = .seconds(60),
        now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) throws {
        self.store = store
        aliases = try AliasStore(store, now: now)
        access = try AliasAccess(store.device)
        presence = UserPresence(store.device)
        self.isLikeTheSample = isLikeTheSample
        self.presenceTimeout = presenceTimeout
        self.now = now
        self.sleep = sleep
    }

    /// Returns a page of the rows of a query (docs/rules.md R9.1 to R9.3). If the user has not decided about READ_ALIAS,
    /// the user is asked. The cursor is the number of rows before the page.
    package func aliases(
        _ query: AliasQueryRequest, limit: Int
    ) async throws(TokenError) -> AliasPage {
        do {
            try requireUnlocked()
            let app = try Self.requireName(query.app)
            let isGranted = try await hasPermission(app)
            // A list on the wire cannot be null, so an empty one means a null projection.
            let projection = try AliasQuery(
                columns: query.columns.isEmpty ? nil : query.columns, isLikeTheSample: isLikeTheSample)
            let snapshot = try snapshot()
            let rows = try projection.rows(snapshot.entries, isReadAliasGranted: isGranted)
            let start = try Self.start(query.cursor, count: rows.count)
            let end = start + min(max(limit, 1), rows.count - start)
            return AliasPage(
                changeCount: UInt64(clamping: snapshot.changeCount),
                columns: projection.columns.map(\.rawValue), rows: Array(rows[start..<end]),
                nextCursor: end < rows.count ? "\(end)" : nil)
        } catch {
            throw TokenError(ofAliases: error)
        }
    }

    /// Lets the user choose an entry, and grants its key to the app (docs/rules.md R9.12).
    package func chooseAlias(_ request: AliasChoiceRequest) async throws(TokenError) -> AliasChoice {
        do {
            try requireUnlocked()
            let app = try Self.requireName(request.app)
            let entries = try snapshot().entries
            let chooser = AliasChooser(
                entries, requesting: request.alias, keyTypes: request.keyTypes,
                issuers: request.issuers)
            let outcome = try await outcome(of: chooser, request)
            guard let alias = outcome.alias else {
                return AliasChoice(alias: nil, reason: outcome.reason?.rawValue)
            }
            // While the dialog was shown, the entry may have been removed, or another one may have got its alias.
            guard let entry = try aliases.keyChain.entry(alias),
                entries.contains(where: {
                    $0.alias.utf8.elementsEqual(alias.utf8) && $0.certificate?.der == entry.certificate
                })
            else {
                return AliasChoice(alias: nil, reason: AliasChooser.Reason.noMatch.rawValue)
            }
            try access.grant(alias, to: app, at: now())
            return AliasChoice(alias: alias, reason: nil)
        } catch {
            throw TokenError(ofAliases: error)
        }
    }

    /// Checks the app's key grant, and opens the key of an entry.
    package func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation {
        do {
            try requireUnlocked()
            guard let alias = use.alias, let entry = try aliases.keyChain.entry(alias) else {
                throw TokenError.aliasNotFound(use.alias ?? use.objectID)
            }
            guard try access.access(of: use.app).mayUse(alias) else {
                throw TokenError(
                    .authenticationNeeded, "\(use.app) has no key grant for \u{201C}\(alias)\u{201D}",
                    obstacle: .noKeyGrant)
            }
            let algorithm = try Self.algorithm(of: use, SharedAlias(entry).certificate.publicKey)
            let key = try PrivateKey(pkcs8: try aliases.keyChain.privateKey(alias))
            return { () throws(TokenError) in try key.perform(use, algorithm) }
        } catch {
            throw TokenError(ofAliases: error)
        }
    }

    /// Ends the key grant of the app that requested a key use.
    ///
    /// - Throws: `TokenError` if the device's files cannot be written.
    func revokeGrant(of use: TokenUse) throws(TokenError) {
        do {
            _ = try access.revoke(use.alias ?? "", of: use.app, at: now())
        } catch {
            throw TokenError(ofAliases: error)
        }
    }
}

// MARK: - Steps

extension AliasContentProvider {
    /// The longest certificate in a list, in bytes of DER, so that a row fits in one reply.
    package static let longestCertificate = 40_000

    private func snapshot() throws -> Snapshot {
        let changeCount = try aliases.keyChain.changeCount()
        if let known = known.withLock({ $0?.changeCount == changeCount ? $0 : nil }) { return known }
        let entries = try aliases.entries().filter { $0.certificate.der.count <= Self.longestCertificate }
        let snapshot = Snapshot(
            changeCount: changeCount,
            entries: try entries.map { $0.entry(try store.chain(of: $0.certificate)) })
        known.withLock { $0 = snapshot }
        return snapshot
    }

    private func requireUnlocked() throws {
        guard AndroidKeyChain.accessibility.isAvailable(in: try store.device.state()) else {
            throw TokenError(
                .authenticationNeeded, "the device was not unlocked since it started", obstacle: .deviceLocked
            )
        }
    }

    /// Opens the chooser, if it offers an entry, and waits for the user.
    private func outcome(
        of chooser: AliasChooser, _ request: AliasChoiceRequest
    ) async throws -> AliasChooser.Outcome {
        guard chooser.opens else { return chooser.outcome(of: .cancel) }
        let dialog = AndroidDialog(chooser, for: request.app, host: request.host, port: request.port)
        let reply = try await presence.request(dialog, timeout: presenceTimeout, sleep: sleep)
        // The device may have been restarted while the dialog was shown.
        try requireUnlocked()
        let answer: AliasChooser.Answer =
            switch reply.outcome {
            case .confirmed: .allow
            case .denied: .deny
            case .canceled, .timedOut: .cancel
            }
        return chooser.outcome(of: answer, selecting: reply.alias)
    }

    /// Returns whether the app has READ_ALIAS. If the user has not decided, the user is asked.
    private func hasPermission(_ app: String) async throws -> Bool {
        switch try access.access(of: app).permission {
        case .granted: return true
        case .denied: return false
        case .undecided: break
        }
        let prompt = AndroidDialog(permissionFor: app)
        let reply = try await presence.request(prompt, timeout: presenceTimeout, sleep: sleep)
        try requireUnlocked()
        switch reply.outcome {
        case .confirmed:
            try access.setPermission(.granted, of: app)
            return true
        case .denied:
            try access.setPermission(.denied, of: app)
            return false
        case .canceled, .timedOut: return false
        }
    }

    /// Returns the name of an app if it could be the name of an Android package.
    private static func requireName(_ app: String) throws(TokenError) -> String {
        guard !app.isEmpty,
            app.utf8.allSatisfy({ byte in
                let character = Character(UnicodeScalar(byte))
                return character.isASCII
                    && (character.isLetter || character.isNumber || "._-".contains(character))
            })
        else {
            throw TokenError(
                .badParameter, "an app\u{2019}s name may contain only letters, digits, dots and hyphens")
        }
        return app
    }

    private static func start(_ cursor: String?, count: Int) throws(TokenError) -> Int {
        guard let cursor else { return 0 }
        guard let start = Int(cursor), start >= 0 else {
            throw TokenError(.badParameter, "the cursor is invalid")
        }
        // After a change the list may be shorter. The change count then also differs, and the consumer starts again.
        return min(start, count)
    }

    private static func algorithm(
        of use: TokenUse, _ key: PublicKey
    ) throws(TokenError) -> SecKeyAlgorithm {
        guard let algorithm = SecKeyAlgorithm(named: use.algorithm), algorithm.operation == use.operation
        else {
            throw TokenError(
                .badParameter, "\u{201C}\(use.algorithm)\u{201D} is not an algorithm for this operation",
                obstacle: .wrongAlgorithm)
        }
        guard algorithm.isSupported(by: key.type, bits: key.bits) else {
            throw .unsupported(algorithm, key.type, bits: key.bits)
        }
        guard use.parameters.requestedSize <= Wire.useDataLimit else {
            throw TokenError(
                .badParameter, "a derivation produces at most \(Wire.useDataLimit) bytes",
                obstacle: .wrongLength)
        }
        return algorithm
    }
}

// MARK: - Errors

extension TokenError {
    /// The error for an app without the permission READ_ALIAS.
    static let withoutReadAlias = TokenError(
        .authenticationFailed, AliasQuery.Failure.permissionDenied.reason, obstacle: .permissionDenied)

    /// The error for an alias without an entry.
    static func aliasNotFound(_ alias: String) -> TokenError {
        TokenError(
            .objectNotFound, "KeyChain has no entry \u{201C}\(alias)\u{201D}", obstacle: .aliasNotFound)
    }

    /// Translates an error of a query, a choice or a key use.
    fileprivate init(ofAliases error: any Error) {
        switch error {
        case AliasQuery.Failure.permissionDenied: self = .withoutReadAlias
        case let failure as AliasQuery.Failure:
            self.init(
                .badParameter, failure.reason, obstacle: TokenRefusalReason(rawValue: failure.name))
        case let error as KeychainError where error.code == .itemNotFound:
            self.init(.objectNotFound, "KeyChain has no such entry", obstacle: .aliasNotFound)
        case let error as DeviceError where error.code == .tooManyDecisions:
            self.init(.communicationError, "the user\u{2019}s decision cannot be stored: \(error.reason)")
        default: self.init(ofKeyUse: error)
        }
    }
}
