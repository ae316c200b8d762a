internal import KeyShareProtocol
package import KeyShareWire
package import NIOCore
internal import PersistentToken

/// A request that is reported to subscribers after it is answered.
package struct RequestRecord: Sendable, Hashable {
    /// The ID that the client gave the request. It is unique only within the connection.
    package var requestID: UInt32
    /// The type of the request's frame.
    package var type: UInt8
    /// The subject of the request; see `ProviderEvent.subject`.
    package var subject: String
    /// The size of the request's frame, in bytes.
    package var size: Int
    /// When the last byte of the frame arrived.
    package var arrived: NIODeadline
}

// Recording of requests, and events for subscribers.

extension ProtocolSession {
    /// Answers the pending request for events. It has no effect if there is none.
    package mutating func finishEventsRequest(_ reply: ProviderReply) {
        guard let awaited = awaitedEvents.take() else { return }
        queue.append(.reply(reply, requestID: awaited.requestID))
    }

    /// Removes the record of a request that is answered now; nil if the request was not recorded.
    package mutating func removeRecord(of requestID: UInt32) -> RequestRecord? {
        records.firstIndex { $0.requestID == requestID }.map { records.remove(at: $0) }
    }

    /// Records a request that is about to be handled.
    ///
    /// - Parameter request: The request; nil if the frame is not a valid request.
    mutating func record(_ frame: Frame, _ request: ProviderRequest?) {
        guard recordsRequests else { return }
        records.append(
            RequestRecord(
                requestID: frame.requestID, type: frame.type, subject: request?.subject ?? "",
                size: Wire.headerSize + frame.body.readableBytes, arrived: lastActivity))
    }
}

extension ProviderRequest {
    /// The subject of the request, for the log: the item, container or row; for `present`, the requested types; for
    /// `hello`, the client's name; for a token request, the token's object.
    fileprivate var subject: String {
        switch self {
        case .hello(let hello): hello.clientName
        case .enumerate(let name, _, _), .item(let name), .services(let name), .startAccessing(let name),
            .read(let name, _, _), .fetchPassword(_, let name), .stopAccessing(let name),
            .choose(let name, _), .identities(let name, _, _):
            name
        case .present(let types, _, _): types.joined(separator: " ")
        case .use(let use), .useBegin(let use): use.objectID
        case .aliasQuery(let query): query.app
        case .aliasChoose(let request): request.alias ?? request.app
        case .describe, .statistics, .events, .tokens, .useUpdate, .useEnd, .useCancel, .tokenStatus,
            .tokenObjects, .tokenLogin:
            ""
        }
    }
}
