package import KeyShareWire
package import KeySharing
package import NIOCore

/// A question to the provider that a session needs answered before it can reply.
package enum SessionWork: Sendable, Hashable {
    case page(container: String, cursor: String?, limit: Int)
    case item(identifier: String)
    case services(identifier: String)
    /// Looks the item up, to grant it.
    case grant(identifier: String)
    /// Fetches the content of a granted item.
    case content(identifier: String)
    case present(types: [String], cursor: String?, limit: Int)
    case choose(row: String, types: [String])
    case facts(cursor: String?, limit: Int)

    /// How the provider answered.
    package enum Outcome: Sendable {
        /// The whole frame of the reply, which needs nothing of the session.
        case encoded(ByteBuffer)
        case granted(Item)
        case content([UInt8])
        case chosen(LegacyExport)
        case failed(ProviderFailure)
    }

    /// Asks the provider. Runs off the event loop, and encodes there what may be long.
    ///
    /// - Parameters:
    ///   - service: The provider.
    ///   - requestID: The request that the reply answers.
    /// - Returns: The answer, a failure among others.
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

    /// Asks for half as much until the page fits a frame: only the provider knows what cursor belongs to a
    /// shorter page.
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
