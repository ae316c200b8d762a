internal import KeyShareProtocol
internal import KeyShareWire
internal import LocalSockets
internal import NIOCore
internal import PersistentToken

// Events about a connection, for subscribers.

extension ConnectionHandler {
    /// Reports the beginning or the end of the connection.
    func reportEvent(_ kind: ProviderEvent.Kind, _ message: String = "") {
        guard isObserved else { return }
        let now = NIODeadline.now()
        report(
            ProviderEvent(
                kind, microseconds: registry.feed.microseconds(now),
                connection: UInt32(truncatingIfNeeded: id),
                processID: peer.processID, message: message))
    }

    /// Whether the requests of this connection are reported. A subscriber's own requests are not.
    var isObserved: Bool { !isSubscriber && (registry.feed.isActive || registry.observer != nil) }

    private func report(_ event: ProviderEvent, requestID: UInt32? = nil) {
        registry.observer?(event, requestID)
        if !isSubscriber, registry.feed.isActive { registry.feed.append(event) }
    }

    /// Reports a request that `reply` answers with `count` bytes.
    func reportRequest(of reply: ProviderReply, _ requestID: UInt32, _ count: Int) {
        guard let record = session.removeRecord(of: requestID) else { return }
        switch reply {
        case .failure(let failure):
            reportRequest(of: record, count, failure: failure.code.rawValue, failure.reason)
        case .tokenFailure(let error):
            reportRequest(of: record, count, failure: Wire.tokenFailureCode, error.reason)
        default: reportRequest(of: record, count)
        }
    }

    /// Reports a request that a frame of `count` bytes answers.
    func reportRequest(of frame: ByteBuffer, _ count: Int) {
        guard let requestID = frame.getInteger(at: frame.readerIndex + 5, as: UInt32.self),
            let record = session.removeRecord(of: requestID)
        else { return }
        reportRequest(of: record, count)
    }

    private func reportRequest(
        of record: RequestRecord, _ count: Int, failure: UInt16 = 0, _ message: String = ""
    ) {
        let taken = (NIODeadline.now() - record.arrived).nanoseconds / 1_000
        report(
            ProviderEvent(
                .request(record.type), microseconds: registry.feed.microseconds(record.arrived),
                duration: UInt32(clamping: taken), connection: UInt32(truncatingIfNeeded: id),
                processID: peer.processID, subject: record.subject, received: UInt32(clamping: record.size),
                sent: UInt32(clamping: count), failure: failure, message: message),
            requestID: record.requestID)
    }
}
