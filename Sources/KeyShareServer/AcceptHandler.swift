internal import Glibc
internal import KeyShareWire
internal import LocalSockets
internal import Logging
internal import NIOCore
internal import NIOPosix

/// The inbound handler of the listening channel: it checks each accepted connection before a byte of it is read.
///
/// A connection of another user, or one for which there is no room, is closed before it is registered for reading
/// (docs/rules.md R6.13). Every other connection gets a `ConnectionHandler`.
final class AcceptHandler: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    /// What becomes of an accepted connection.
    private enum Verdict {
        case admitted(ConnectionHandler)
        /// The peer has closed its end already.
        case left
        case turnedAway
    }

    /// The number of connections without a peer that are closed for one event of the listening socket. A channel of NIO
    /// costs about twenty times as much as these system calls, and peers that are there wait while they are made: with 64,
    /// a fetch beside leavers took twice as long as with 8 (`scripts/hardening leavers`).
    private static let leaversPerEvent = 8

    private let registry: ConnectionRegistry
    private let acceptsPeer: @Sendable (PeerIdentity) -> Bool

    init(registry: ConnectionRegistry, acceptsPeer: @escaping @Sendable (PeerIdentity) -> Bool) {
        self.registry = registry
        self.acceptsPeer = acceptsPeer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let child = unwrapInboundIn(data)
        do {
            let verdict =
                try child.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                    of: NIOBSDSocket.Handle.self, judge) ?? .turnedAway
            switch verdict {
            case .admitted(let handler):
                do {
                    try Self.prepare(child, for: handler)
                } catch {
                    registry.remove(handler.id)
                    throw error
                }
                context.fireChannelRead(data)
            case .left:
                child.close(promise: nil)
                try context.channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                    of: NIOBSDSocket.Handle.self
                ) { listening in
                    closeLeavers(of: listening, on: context.eventLoop)
                }
            case .turnedAway:
                child.close(promise: nil)
            }
        } catch {
            registry.warn("an accepted connection was lost", ["error": "\(error)"])
            child.close(promise: nil)
        }
    }

    /// Sets up the channel of an admitted connection.
    private static func prepare(_ child: any Channel, for handler: ConnectionHandler) throws {
        if let options = child.syncOptions {
            // One read for each event, so that a peer that sends without end gets no more turns than the others.
            try options.setOption(.maxMessagesPerRead, value: 1)
            try options.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 8_192))
            try options.setOption(.allowRemoteHalfClosure, value: true)
        }
        try child.pipeline.syncOperations.addHandler(handler)
    }

    /// Decides about the connection of `descriptor`. Where there is no room for it, it gets the reason.
    private func judge(_ descriptor: CInt) -> Verdict {
        guard !Self.hasLeft(descriptor) else {
            // Whatever it asked for, nobody waits for it. A peer that connects, asks and leaves without end costs
            // no more than this.
            registry.noteLeaver()
            return .left
        }
        let peer = PeerIdentity(descriptor: descriptor)
        guard let peer, acceptsPeer(peer) else {
            registry.warn(
                "a stranger was turned away", ["uid": "\(peer.map { String($0.userID) } ?? "unknown")"])
            return .turnedAway
        }
        guard let handler = registry.admit(peer) else {
            registry.warn("no room for a connection", ["pid": "\(peer.processID)"])
            refuse(descriptor)
            return .turnedAway
        }
        return .admitted(handler)
    }

    /// Closes the connections at the head of the queue of `listening` that their peers have left, up to the first one
    /// whose peer is there: that one is served.
    ///
    /// Peers that leave at once can fill the queue faster than NIO makes channels, and an honest peer stands behind all
    /// of them.
    private func closeLeavers(of listening: CInt, on loop: any EventLoop) {
        for _ in 0..<Self.leaversPerEvent {
            // Where none waits or the accept fails, there is nothing to do: NIO meets the failure at its next accept.
            guard let descriptor = ListeningSocket.accept(from: listening) else { return }
            switch judge(descriptor) {
            case .left: Glibc.close(descriptor)
            case .turnedAway:
                Glibc.close(descriptor)
                return
            case .admitted(let handler):
                serve(descriptor, by: handler, on: loop)
                return
            }
        }
    }

    /// Makes the channel of an accepted connection, which owns the descriptor from now on.
    private func serve(_ descriptor: CInt, by handler: ConnectionHandler, on loop: any EventLoop) {
        let connection = NIOLoopBound((registry: registry, handler: handler), eventLoop: loop)
        ClientBootstrap(group: loop).channelInitializer { child in
            child.eventLoop.makeCompletedFuture {
                try Self.prepare(child, for: connection.value.handler)
            }
        }
        .withConnectedSocket(descriptor).whenFailure { error in
            connection.value.registry.remove(connection.value.handler.id)
            connection.value.registry.warn("an accepted connection was lost", ["error": "\(error)"])
        }
    }

    /// Evicts a connection when an accept fails for want of a descriptor. The new connection still waits, so NIO
    /// accepts it next. Where none can be evicted, NIO's own handler pauses accepting for a second.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) {
            registry.warn("no descriptor is left", ["error": "\(error)"])
            if registry.evictOne() { return }
        }
        context.fireErrorCaught(error)
    }

    /// Tells whether the peer has closed its end altogether. One that has only finished sending has not (poll(2)).
    private static func hasLeft(_ descriptor: CInt) -> Bool {
        var poller = pollfd(fd: descriptor, events: 0, revents: 0)
        return unsafe poll(&poller, 1, 0) == 1 && CInt(poller.revents) & POLLHUP != 0
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
