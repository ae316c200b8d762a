package import KeyShareWire
package import KeySharing
package import NIOCore

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

    /// The provider's answer to a question.
    package enum Outcome: Sendable {
        /// The frame of the whole reply, for questions whose answer changes nothing in the session.
        case encoded(ByteBuffer)
        case granted(Item)
        case content([UInt8])
        case chosen(LegacyExport)
        case failed(ProviderFailure)
    }

    /// Asks the provider. It runs off the event loop, and encodes long replies there.
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
                return .content(try await service.content(of: identifier))
            case .choose(let row, let types):
                return .chosen(try await service.choose(row, types: types))
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
        }
    }
}
