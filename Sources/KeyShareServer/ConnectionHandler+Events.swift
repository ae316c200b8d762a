internal import KeyShareWire
internal import LocalSockets
internal import NIOCore
internal import PersistentToken

// What subscribers are told of a connection.

extension ConnectionHandler {
    /// Tells of the connection's beginning or end.
    func tell(_ kind: ProviderEvent.Kind, _ message: String = "") {
        guard !isSubscriber, registry.feed.isActive else { return }
        let now = NIODeadline.now()
        registry.feed.append(
            ProviderEvent(
                kind, microseconds: registry.feed.microseconds(now),
                connection: UInt32(truncatingIfNeeded: id),
                processID: peer.processID, message: message))
    }

    /// Tells of a request that `reply` answers, with `count` bytes.
    func tell(of reply: ProviderReply, _ requestID: UInt32, _ count: Int) {
        guard let note = session.takeNote(of: requestID) else { return }
        switch reply {
        case .failure(let failure): tell(of: note, count, failure: failure.code.rawValue, failure.reason)
        case .tokenFailure(let error): tell(of: note, count, failure: Wire.tokenFailureCode, error.reason)
        default: tell(of: note, count)
        }
    }

    /// Tells of a request that a frame answers, with `count` bytes.
    func tell(of frame: ByteBuffer, _ count: Int) {
        guard let requestID = frame.getInteger(at: frame.readerIndex + 5, as: UInt32.self),
            let note = session.takeNote(of: requestID)
        else { return }
        tell(of: note, count)
    }

    private func tell(of note: RequestNote, _ count: Int, failure: UInt16 = 0, _ message: String = "") {
        let taken = (NIODeadline.now() - note.arrived).nanoseconds / 1_000
        registry.feed.append(
            ProviderEvent(
                .request(note.type), microseconds: registry.feed.microseconds(note.arrived),
                duration: UInt32(clamping: taken), connection: UInt32(truncatingIfNeeded: id),
                processID: peer.processID, subject: note.subject, received: UInt32(clamping: note.size),
                sent: UInt32(clamping: count), failure: failure, message: message))
    }
}
