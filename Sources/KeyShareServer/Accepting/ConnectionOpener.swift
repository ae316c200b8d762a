internal import Glibc
internal import KeyShareProtocol
internal import KeyShareWire
internal import LocalSockets
internal import Logging
internal import NIOCore
internal import NIOPosix

/// Creates channels for accepted connections, on the event loop.
final class ConnectionOpener {
    private let registry: ConnectionRegistry
    private let eventLoop: any EventLoop

    init(_ registry: ConnectionRegistry, on eventLoop: any EventLoop) {
        self.registry = registry
        self.eventLoop = eventLoop
    }

    /// Opens an accepted connection, or sends the reason if the server has no room for it.
    ///
    /// - Parameters:
    ///   - descriptor: The connection. This function passes it to the channel or closes it.
    ///   - peer: The client.
    func openConnection(_ descriptor: CInt, _ peer: PeerIdentity) {
        // A channel costs about twenty times as much as this check.
        guard !ListeningSocket.hasPeerLeft(descriptor) else {
            registry.abandoned.add()
            close(descriptor)
            return
        }
        guard !registry.isDraining else {
            // The client can reconnect to a new server, which a service manager may have started already.
            close(descriptor)
            return
        }
        registry.replyScheduler.processAll()
        guard let handler = registry.admit(peer) else {
            registry.warn("a connection was rejected: there are too many", ["pid": "\(peer.processID)"])
            sendRefusal(to: descriptor)
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
            connection.value.registry.warn(
                "an accepted connection could not be set up", ["error": "\(error)"])
        }
    }

    /// Logs that a client was rejected. `peer` is nil if the kernel does not report the client's identity.
    func logRejectedPeer(_ peer: PeerIdentity?) {
        let user = peer.map { String($0.userID) } ?? "unknown"
        registry.warn("a connection of another user was rejected", ["uid": "\(user)"])
    }

    /// Closes a connection so that its descriptor can serve another.
    ///
    /// - Parameter reason: The errno with which the system refused a descriptor.
    /// - Returns: Whether a connection was closed.
    func makeRoom(_ reason: CInt) -> Bool {
        registry.warn("no file descriptor is available", ["errno": "\(reason)"])
        registry.replyScheduler.processAll()
        return registry.evictOne()
    }

    /// Sets up the channel of an admitted connection.
    private static func prepare(_ channel: any Channel, for handler: ConnectionHandler) throws {
        if let options = channel.syncOptions {
            // One read for each event, so that a client that sends without pause gets no more turns than others.
            try options.setOption(.maxMessagesPerRead, value: 1)
            try options.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 8_192))
            try options.setOption(.allowRemoteHalfClosure, value: true)
        }
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    /// Sends the reason to a rejected connection, in one write that never blocks.
    private func sendRefusal(to descriptor: CInt) {
        var frame = ByteBuffer()
        do throws(ProviderFailure) {
            try ProviderReply.failure(ProviderFailure(.serverBusy, "the provider has too many connections"))
                .encode(id: Wire.noRequest, into: &frame)
        } catch {
            // This cannot happen: a failure with one short sentence always fits in a frame.
            registry.warn("a failure could not be encoded", ["error": "\(error)"])
        }
        unsafe frame.withUnsafeReadableBytes { bytes in
            _ = unsafe send(
                descriptor, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
        }
    }
}
