import KeyShareProtocol
import TestSupport
import KeyShareServer
import KeyShareWire
import KeySharing
import NIOCore

/// Drives a `ProtocolSession` as its client, its provider and its clock, and returns its answers.
struct ScriptedPeer {
    /// An action of the session in a form that can be compared.
    enum Answer: Hashable {
        case frame([UInt8])
        case failure(ProviderFailure.Code, UInt32)
        case password(String, UInt32)
        case perform(ProviderCall, UInt32)
        case message(MultipartSignatureStep, UInt32)
        case close(ProtocolSession.CloseReason)

        static func reply(_ reply: ProviderReply, _ id: UInt32) -> Answer {
            .frame((try? WireSamples.bytes(reply, id: id)) ?? [])
        }

        static func chunk(_ total: Int, _ bytes: ArraySlice<UInt8>, _ id: UInt32) -> Answer {
            .reply(.chunk(ContentChunk(total: total, bytes: bytes)), id)
        }
    }

    var session: ProtocolSession
    var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var lastToken = 0

    init(
        greeted: Bool = true, features: [String] = [Wire.Feature.statistics],
        limits adjust: (inout ProviderServer.Limits) -> Void = { _ in }
    ) {
        var limits = ProviderServer.Limits()
        adjust(&limits)
        session = ProtocolSession(
            limits: limits, serverName: "test", services: [PasswordService.name], features: features,
            at: now)
        if greeted {
            let hello = Hello(minimumVersion: 1, maximumVersion: 1, clientName: "", services: [])
            _ = try? ask(.hello(hello))
        }
    }

    mutating func pass(_ time: TimeAmount) {
        now = now + time
    }

    mutating func give(_ bytes: [UInt8]) -> [Answer] {
        if !bytes.isEmpty {
            session.receive(ByteBuffer(bytes: bytes), at: now)
        }
        return drain()
    }

    mutating func ask(_ request: ProviderRequest, id: UInt32 = 1) throws -> [Answer] {
        give(try WireSamples.bytes(request, id: id))
    }

    mutating func read(
        _ identifier: String, _ offset: UInt64, _ length: UInt32, id: UInt32 = 1
    ) throws -> [Answer] {
        try ask(.read(identifier: identifier, offset: offset, length: length), id: id)
    }

    /// Starts access to an item, as request 2.
    mutating func grant(_ item: Item) throws -> [Answer] {
        _ = try ask(.startAccessing(identifier: item.identifier), id: 2)
        return complete(.granted(item))
    }

    /// Finishes the call `token`, or the latest one.
    mutating func complete(_ outcome: ProviderCall.Outcome, token: Int? = nil) -> [Answer] {
        session.finishCall(token ?? lastToken, with: outcome, at: now)
        return drain()
    }

    /// The reason of a request's failure.
    mutating func failureMessage(_ request: ProviderRequest) throws -> String? {
        session.receive(ByteBuffer(bytes: try WireSamples.bytes(request)), at: now)
        guard case .reply(.failure(let failure), _) = session.next(at: now) else { return nil }
        return failure.reason
    }

    private mutating func drain() -> [Answer] {
        var answers: [Answer] = []
        while let action = session.next(at: now) {
            switch action {
            case .reply(.failure(let failure), let id): answers.append(.failure(failure.code, id))
            case .reply(let reply, let id): answers.append(.reply(reply, id))
            case .send(let frame): answers.append(.frame(Array(frame.readableBytesView)))
            case .message(let step, let id): answers.append(.message(step, id))
            case .statistics(let id): answers.append(.reply(.statistics([]), id))
            case .awaitEvents: break
            case .password(let identifier, let id): answers.append(.password(identifier, id))
            case .call(let work, let token, let id):
                lastToken = token
                answers.append(.perform(work, id))
            case .close(let reason): answers.append(.close(reason))
            }
        }
        return answers
    }
}
