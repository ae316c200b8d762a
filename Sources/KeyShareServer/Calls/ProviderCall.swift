internal import KeyShareProtocol
package import KeyShareWire
package import KeySharing
package import NIOCore
package import PersistentToken
package import SecretMemory

/// A call to the provider. Its outcome determines the session's reply.
package enum ProviderCall: Sendable, Hashable {
    case page(container: String, cursor: String?, limit: Int)
    case item(identifier: String)
    case services(identifier: String)
    /// Looks up an item in order to grant it.
    case grant(identifier: String)
    /// Fetches the content of a granted item.
    case content(identifier: String)
    case present(types: [String], cursor: String?, limit: Int)
    case choose(row: String, types: [String])
    case facts(cursor: String?, limit: Int)
    case identities(container: String, cursor: String?, limit: Int)
    case tokens(cursor: String?, limit: Int)
    case tokenStatus
    case tokenObjects(cursor: String?, limit: Int)
    case use(TokenUse)
    case logIn(TokenLogin)
    case aliases(AliasQueryRequest, limit: Int)
    case chooseAlias(AliasChoiceRequest)
    /// The key use at the end of a message that arrived in parts.
    case useOfMultipartMessage(handle: UInt32)

    /// The outcome of a call.
    package enum Outcome: Sendable {
        /// The frame of the whole reply, for calls that change nothing in the session.
        case encoded(ByteBuffer)
        case granted(Item)
        case content([UInt8])
        case chosen(LegacyExport)
        case failed(ProviderFailure)
        /// The content or the export must be created first, by `executeExport(on:)`.
        case needsExport(ExpectedCost)
        /// The key is open, and the key use must be computed.
        case needsComputation(TokenComputation)
        /// The result of a key use.
        case used(SecretBytes)
        case tokenFailed(TokenError)
    }

    /// Calls the provider for everything except exports and computations. It runs off the event loop, and also encodes
    /// long replies.
    ///
    /// - Parameters:
    ///   - service: The provider.
    ///   - requestID: The id of the request that the reply answers.
    /// - Returns: The outcome. Errors of the provider are returned as `failed`.
    package func execute(on service: any ProviderService, requestID: UInt32) async -> Outcome {
        do throws(ProviderFailure) {
            switch self {
            case .grant(let identifier):
                return .granted(try await service.item(identifier))
            case .content(let identifier):
                switch try await service.contentState(of: identifier) {
                case .ready(let bytes): return .content(bytes)
                case .needsExport(let work): return .needsExport(work)
                }
            case .choose(let row, let types):
                return .needsExport(try await service.exportCost(row, types: types))
            case .item(let identifier):
                return try Self.encoded(.item(try await service.item(identifier)), requestID)
            case .services(let identifier):
                return try Self.encoded(.services(try await service.services(for: identifier)), requestID)
            case .page(let container, let cursor, let limit):
                return try await Self.fitting(limit, requestID) { (limit) async throws(ProviderFailure) in
                    .page(try await service.page(of: container, after: cursor, limit: limit))
                }
            case .present(let types, let cursor, let limit):
                return try await Self.fitting(limit, requestID) { (limit) async throws(ProviderFailure) in
                    .rows(try await service.present(types, after: cursor, limit: limit))
                }
            case .facts(let cursor, let limit):
                return try await Self.fitting(limit, requestID) { (limit) async throws(ProviderFailure) in
                    .facts(try await service.identityFacts(after: cursor, limit: limit))
                }
            case .identities(let container, let cursor, let limit):
                return try await Self.fitting(limit, requestID) { (limit) async throws(ProviderFailure) in
                    .identities(try await service.identities(of: container, after: cursor, limit: limit))
                }
            case .use(let use) where use.alias != nil:
                return await Self.openKey(for: use, of: try Self.aliases(of: service))
            case .aliases, .chooseAlias:
                return try await execute(on: try Self.aliases(of: service), requestID: requestID)
            case .tokens, .tokenStatus, .tokenObjects, .use, .logIn:
                return try await execute(on: try Self.token(of: service), requestID: requestID)
            case .useOfMultipartMessage:
                throw ProviderFailure(
                    .internalError, "the key cannot be used before the multipart message is finished")
            }
        } catch {
            return .failed(error)
        }
    }

    /// Performs a call of the token.
    private func execute(
        on token: any TokenService, requestID: UInt32
    ) async throws(ProviderFailure) -> Outcome {
        switch self {
        case .tokens(let cursor, let limit):
            return try await Self.fitting(limit, requestID) { (limit) async throws(ProviderFailure) in
                .tokens(try await token.tokens(after: cursor, limit: limit))
            }
        case .tokenStatus:
            return try Self.encoded(
                .tokenStatus(try await token.tokenStatus()), requestID)
        case .tokenObjects(let cursor, let limit):
            return try await Self.fitting(limit, requestID) { (limit) async throws(ProviderFailure) in
                .tokenObjects(try await token.tokenObjects(after: cursor, limit: limit))
            }
        case .use(let use):
            do throws(TokenError) {
                return .needsComputation(try await token.openKey(for: use))
            } catch {
                return .tokenFailed(error)
            }
        case .logIn(let login):
            let state: TokenLoginState
            do throws(TokenError) {
                state = try await token.logIn(login)
            } catch {
                return .tokenFailed(error)
            }
            return try Self.encoded(.tokenLogin(state), requestID)
        default: throw ProviderFailure(.internalError, "this is not a token call")
        }
    }

    /// Performs a call about aliases.
    private func execute(
        on service: any AliasService, requestID: UInt32
    ) async throws(ProviderFailure) -> Outcome {
        var (query, limit) = (AliasQueryRequest(app: "", columns: []), 1)
        switch self {
        case .aliases(let asked, let most): (query, limit) = (asked, most)
        case .chooseAlias(let request):
            let choice: AliasChoice
            do throws(TokenError) {
                choice = try await service.chooseAlias(request)
            } catch {
                return .tokenFailed(error)
            }
            return try Self.encoded(.aliasChosen(choice), requestID)
        default: throw ProviderFailure(.internalError, "this is not an alias call")
        }
        while true {
            let page: AliasPage
            do throws(TokenError) {
                page = try await service.aliases(query, limit: limit)
            } catch {
                return .tokenFailed(error)
            }
            do throws(ProviderFailure) {
                return try Self.encoded(.aliases(page), requestID)
            } catch {
                guard limit > 1 else { throw error }
                limit /= 2
            }
        }
    }

    private static func openKey(for use: TokenUse, of service: any AliasService) async -> Outcome {
        do throws(TokenError) {
            return .needsComputation(try await service.openKey(for: use))
        } catch {
            return .tokenFailed(error)
        }
    }

    /// Lets the provider create the export that `execute(on:requestID:)` reported as needed. It runs off the event
    /// loop, and may take a long time.
    ///
    /// - Returns: The content or the export. Errors of the provider are returned as `failed`.
    package func executeExport(on service: any ProviderService) async -> Outcome {
        do throws(ProviderFailure) {
            switch self {
            case .content(let identifier):
                return .content(try await service.content(of: identifier))
            case .choose(let row, let types):
                return .chosen(try await service.choose(row, types: types))
            case .page, .item, .services, .grant, .present, .facts, .identities, .tokens, .tokenStatus,
                .tokenObjects, .use, .logIn, .aliases, .chooseAlias, .useOfMultipartMessage:
                throw ProviderFailure(.internalError, "this call does not require an export")
            }
        } catch {
            return .failed(error)
        }
    }

    /// Requests pages, halving the limit until a page fits in a frame. The page cannot be truncated here, because only
    /// the provider can determine the cursor for a shorter page.
    private static func fitting(
        _ limit: Int, _ requestID: UInt32, _ page: (Int) async throws(ProviderFailure) -> ProviderReply
    ) async throws(ProviderFailure) -> Outcome {
        var limit = limit
        while true {
            let reply = try await page(limit)
            do throws(ProviderFailure) {
                return try encoded(reply, requestID)
            } catch {
                guard limit > 1 else { throw error }
                limit /= 2
            }
        }
    }

    private static func aliases(of service: any ProviderService) throws(ProviderFailure)
        -> any AliasService
    {
        guard let aliases = service.aliases else { throw ProtocolSession.noAliases }
        return aliases
    }

    private static func token(of service: any ProviderService) throws(ProviderFailure) -> any TokenService {
        guard let token = service.token else { throw ProtocolSession.noToken }
        return token
    }

    private static func encoded(
        _ reply: ProviderReply, _ requestID: UInt32
    ) throws(ProviderFailure) -> Outcome {
        var bytes = ByteBuffer()
        do throws(ProviderFailure) {
            try reply.encode(id: requestID, into: &bytes)
        } catch {
            throw ProviderFailure(.internalError, "the reply does not fit in a frame: \(error.reason)")
        }
        return .encoded(bytes)
    }
}

extension ProviderCall {
    /// Whether the call may wait for the user, like opening a key.
    var mayWaitForUser: Bool {
        switch self {
        case .logIn, .aliases, .chooseAlias: true
        default: false
        }
    }

    /// A short description of the call and its item, for the log.
    var logDescription: String {
        switch self {
        case .page(let container, _, let limit): "page of \(container.logSafe), \(limit)"
        case .item(let identifier): "item \(identifier.logSafe)"
        case .services(let identifier): "services of \(identifier.logSafe)"
        case .grant(let identifier): "grant of \(identifier.logSafe)"
        case .content(let identifier): "content of \(identifier.logSafe)"
        case .present(let types, _, _): "rows for \(types.count) types"
        case .choose(let row, _): "export of \(row.logSafe)"
        case .facts(_, let limit): "identity facts, \(limit)"
        case .identities(let container, _, let limit): "identities of \(container.logSafe), \(limit)"
        case .tokens(_, let limit): "tokens, \(limit)"
        case .tokenStatus: "token status"
        case .tokenObjects(_, let limit): "token objects, \(limit)"
        case .use(let use): "\(use.operation) with \(use.objectID.logSafe), \(use.algorithm.logSafe)"
        case .aliases(let query, let limit): "aliases for \(query.app.logSafe), \(limit)"
        case .chooseAlias(let request): "choice of an alias for \(request.app.logSafe)"
        case .logIn(.state): "the login's state"
        case .logIn(.presence): "login by presence"
        case .logIn(.passcode): "login by passcode"
        case .useOfMultipartMessage(let handle): "use of message \(handle)"
        }
    }
}

extension ProviderCall.Outcome {
    /// Performs a key use with its opened key.
    init(of computation: TokenComputation) {
        do throws(TokenError) {
            self = .used(try computation())
        } catch {
            self = .tokenFailed(error)
        }
    }
}
