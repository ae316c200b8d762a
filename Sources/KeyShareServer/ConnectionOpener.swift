internal import Glibc
internal import KeyShareWire
internal import LocalSockets
internal import Logging
internal import NIOCore
internal import NIOPosix

/// What makes channels of accepted connections, on the event loop.
final class ConnectionOpener {
    private let registry: ConnectionRegistry
    private let eventLoop: any EventLoop

    init(_ registry: ConnectionRegistry, on eventLoop: any EventLoop) {
        self.registry = registry
        self.eventLoop = eventLoop
    }

    /// Opens an accepted connection, unless there is no room for it; it gets the reason then.
    ///
    /// - Parameters:
    ///   - descriptor: The connection, which is the channel's from now on, or is closed.
    ///   - peer: Who is at its other end.
    func open(_ descriptor: CInt, _ peer: PeerIdentity) {
        // A channel costs about twenty times as much as this question.
        guard !ListeningSocket.hasPeerLeft(descriptor) else {
            registry.leavers.add()
            close(descriptor)
            return
        }
        guard !registry.isDraining else {
            // A service manager may have a successor for whoever connects again.
            close(descriptor)
            return
        }
        registry.round.answerAll()
        guard let handler = registry.admit(peer) else {
            registry.warn("no room for a connection", ["pid": "\(peer.processID)"])
            refuse(descriptor)
            close(descriptor)
            return
        }
        let connection = NIOLoopBound((registry: registry, handler: handler), eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try Self.prepare(channel, for: connection.value.handler)
            }
        }
        .withConnectedSocket(descriptor).whenFailure { error in
            connection.value.registry.remove(connection.value.handler.id)
            connection.value.registry.warn("an accepted connection was lost", ["error": "\(error)"])
        }
    }

    /// Logs that a peer was turned away; nil where the kernel does not name it.
    func noteStranger(_ peer: PeerIdentity?) {
        let user = peer.map { String($0.userID) } ?? "unknown"
        registry.warn("a stranger was turned away", ["uid": "\(user)"])
    }

    /// Closes a connection so that its descriptor can serve another.
    ///
    /// - Parameter reason: The errno by which the system refused a descriptor.
    /// - Returns: Whether there was a connection to close.
    func makeRoom(_ reason: CInt) -> Bool {
        registry.warn("no descriptor is left", ["errno": "\(reason)"])
        registry.round.answerAll()
        return registry.evictOne()
    }

    /// Sets up the channel of an admitted connection.
    private static func prepare(_ channel: any Channel, for handler: ConnectionHandler) throws {
        if let options = channel.syncOptions {
            // One read for each event, so that a peer that sends without end gets no more turns than the others.
            try options.setOption(.maxMessagesPerRead, value: 1)
            try options.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 8_192))
            try options.setOption(.allowRemoteHalfClosure, value: true)
        }
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    /// Sends the reason to a connection that is turned away, by one write that never waits.
    private func refuse(_ descriptor: CInt) {
        var frame = ByteBuffer()
        do throws(ProviderFailure) {
            try ProviderReply.failure(ProviderFailure(.serverBusy, "the provider has too many connections"))
                .encode(id: Wire.noRequest, into: &frame)
        } catch {
            // This cannot happen: a failure of one short sentence always fits a frame.
            registry.warn("a failure could not be encoded", ["error": "\(error)"])
        }
        unsafe frame.withUnsafeReadableBytes { bytes in
            _ = unsafe send(
                descriptor, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
        }
    }
}
