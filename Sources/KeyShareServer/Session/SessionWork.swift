package import KeyShareWire
package import KeySharing
package import NIOCore
package import PersistentToken
package import SecretMemory

/// A question to the provider, whose answer a session needs for its reply.
package enum SessionWork: Sendable, Hashable {
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
    /// The use at the end of a message that came in parts.
    case useOfMessage(handle: UInt32)

    /// The provider's answer to a question.
    package enum Outcome: Sendable {
        /// The frame of the whole reply, for questions whose answer changes nothing in the session.
        case encoded(ByteBuffer)
        case granted(Item)
        case content([UInt8])
        case chosen(LegacyExport)
        case failed(ProviderFailure)
        /// The content or the export must be made first; `make` does that.
        case toMake(ExpectedWork)
        /// The key is open, and the use must be computed.
        case toCompute(TokenComputation)
        /// The result of a use.
        case used(SecretBytes)
        case tokenFailed(TokenError)
    }

    /// Asks the provider, as far as a look-up answers. It runs off the event loop, and encodes long replies there.
    ///
    /// - Parameters:
    ///   - service: The provider.
    ///   - requestID: The id of the request that the reply answers.
    /// - Returns: The answer; a failure of the provider is `failed`.
    package func ask(_ service: any ProviderService, requestID: UInt32) async -> Outcome {
        do throws(ProviderFailure) {
            switch self {
            case .grant(let identifier):
                return .granted(try await service.item(identifier))
            case .content(let identifier):
                switch try await service.contentState(of: identifier) {
                case .ready(let bytes): return .content(bytes)
                case .toMake(let work): return .toMake(work)
                }
            case .choose(let row, let types):
                return .toMake(try await service.exportWork(row, types: types))
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
            case .tokens(let cursor, let limit):
                let token = try Self.token(of: service)
                return try await Self.fitting(limit, requestID) { (limit) async throws(ProviderFailure) in
                    .tokens(try await token.tokens(after: cursor, limit: limit))
                }
            case .tokenStatus:
                return try Self.encoded(
                    .tokenStatus(try await Self.token(of: service).tokenStatus()), requestID)
            case .tokenObjects(let cursor, let limit):
                let token = try Self.token(of: service)
                return try await Self.fitting(limit, requestID) { (limit) async throws(ProviderFailure) in
                    .tokenObjects(try await token.tokenObjects(after: cursor, limit: limit))
                }
            case .use(let use):
                let token = try Self.token(of: service)
                do throws(TokenError) {
                    return .toCompute(try await token.openKey(for: use))
                } catch {
                    return .tokenFailed(error)
                }
            case .logIn(let login):
                let token = try Self.token(of: service)
                let state: TokenLoginState
                do throws(TokenError) {
                    state = try await token.logIn(login)
                } catch {
                    return .tokenFailed(error)
                }
                return try Self.encoded(.tokenLogin(state), requestID)
            case .useOfMessage:
                throw ProviderFailure(.internalError, "a message is ended before its use is asked for")
            }
        } catch {
            return .failed(error)
        }
    }

    /// Has the provider make what `ask` said must be made. It runs off the event loop, and may take long.
    ///
    /// - Returns: The content or the export; a failure of the provider is `failed`.
    package func make(_ service: any ProviderService) async -> Outcome {
        do throws(ProviderFailure) {
            switch self {
            case .content(let identifier):
                return .content(try await service.content(of: identifier))
            case .choose(let row, let types):
                return .chosen(try await service.choose(row, types: types))
            case .page, .item, .services, .grant, .present, .facts, .identities, .tokens, .tokenStatus,
                .tokenObjects, .use, .logIn, .useOfMessage:
                throw ProviderFailure(.internalError, "there is nothing to make")
            }
        } catch {
            return .failed(error)
        }
    }

    /// Asks for pages of half the size until one fits a frame. The page cannot be cut here, because only the provider
    /// knows the cursor that belongs to a shorter page.
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

    private static func token(of service: any ProviderService) throws(ProviderFailure) -> any TokenService {
        guard let token = service.token else { throw Session.noToken }
        return token
    }

    private static func encoded(
        _ reply: ProviderReply, _ requestID: UInt32
    ) throws(ProviderFailure) -> Outcome {
        var bytes = ByteBuffer()
        do throws(ProviderFailure) {
            try reply.encode(id: requestID, into: &bytes)
        } catch {
            throw ProviderFailure(.internalError, "the answer does not fit a frame: \(error.reason)")
        }
        return .encoded(bytes)
    }
}

extension SessionWork {
    /// The question and its item, for the log.
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
        case .logIn(.state): "the login's state"
        case .logIn(.presence): "login by presence"
        case .logIn(.passcode): "login by passcode"
        case .useOfMessage(let handle): "use of message \(handle)"
        }
    }
}

extension SessionWork.Outcome {
    /// Computes a use whose key is open.
    init(of computation: TokenComputation) {
        do throws(TokenError) {
            self = .used(try computation())
        } catch {
            self = .tokenFailed(error)
        }
    }
}
