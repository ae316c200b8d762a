package import KeyShareWire
package import NIOCore
internal import PersistentToken

/// A request that subscribers are told of once it is answered: what it asked, and when.
package struct RequestNote: Sendable, Hashable {
    /// The id of the request.
    package var requestID: UInt32
    /// The type of the request's frame.
    package var type: UInt8
    /// What the request is about; see `ProviderEvent.subject`.
    package var subject: String
    /// The bytes of the request's frame.
    package var size: Int
    /// When the bytes arrived that completed the frame.
    package var arrived: NIODeadline
}

// What a session does for those who are told of requests.

extension Session {
    /// Answers the request that waits for events. It has no effect where none does.
    package mutating func answerEvents(_ reply: ProviderReply) {
        guard let awaited = awaitedEvents.take() else { return }
        queue.append(.reply(reply, requestID: awaited.requestID))
    }

    /// Removes the note of a request that is answered now; nil where it was not noted.
    package mutating func takeNote(of requestID: UInt32) -> RequestNote? {
        notes.firstIndex { $0.requestID == requestID }.map { notes.remove(at: $0) }
    }

    /// Notes a request that is about to be handled.
    ///
    /// - Parameter request: the request; nil for a frame that is none.
    mutating func note(_ frame: Frame, _ request: ProviderRequest?) {
        guard notesRequests else { return }
        notes.append(
            RequestNote(
                requestID: frame.requestID, type: frame.type, subject: request?.subject ?? "",
                size: Wire.headerSize + frame.body.readableBytes, arrived: lastActivity))
    }
}

extension ProviderRequest {
    /// The item, the container or the row that the request names; the types of `present`; the client's name of `hello`;
    /// the object of a token.
    fileprivate var subject: String {
        switch self {
        case .hello(let hello): hello.clientName
        case .enumerate(let name, _, _), .item(let name), .services(let name), .startAccessing(let name),
            .read(let name, _, _), .fetchPassword(_, let name), .stopAccessing(let name),
            .choose(let name, _), .identities(let name, _, _):
            name
        case .present(let types, _, _): types.joined(separator: " ")
        case .use(let use), .useBegin(let use): use.objectID
        case .describe, .statistics, .events, .tokens, .useUpdate, .useEnd, .useCancel, .tokenStatus,
            .tokenObjects, .tokenLogin:
            ""
        }
    }
}
