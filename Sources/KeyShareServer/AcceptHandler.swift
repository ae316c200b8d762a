internal import Glibc
internal import KeyShareWire
internal import LocalSockets
internal import Logging
internal import NIOCore

/// The inbound handler of the listening channel: it checks each accepted connection before a byte of it is read.
///
/// A connection of another user, or one for which there is no room, is closed before it is registered for reading
/// (docs/rules.md R6.13). Every other connection gets a `ConnectionHandler`.
final class AcceptHandler: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    private let registry: ConnectionRegistry
    private let acceptsPeer: @Sendable (PeerIdentity) -> Bool

    init(registry: ConnectionRegistry, acceptsPeer: @escaping @Sendable (PeerIdentity) -> Bool) {
        self.registry = registry
        self.acceptsPeer = acceptsPeer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let child = unwrapInboundIn(data)
        do {
            let peer = try child.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self
            ) { descriptor in
                PeerIdentity(descriptor: descriptor)
            }
            guard let peer = peer ?? nil, acceptsPeer(peer) else {
                registry.warn(
                    "a stranger was turned away",
                    ["uid": "\((peer ?? nil).map { String($0.userID) } ?? "unknown")"])
                child.close(promise: nil)
                return
            }
            guard let handler = registry.admit(peer) else {
                registry.warn(
                    "no room for a connection", ["pid": "\(peer.processID)"])
                try refuse(child)
                return
            }
            do {
                try child.pipeline.syncOperations.addHandler(handler)
            } catch {
                registry.remove(handler.id)
                throw error
            }
            context.fireChannelRead(data)
        } catch {
            registry.warn("an accepted connection was lost", ["error": "\(error)"])
            child.close(promise: nil)
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

    /// Sends the reason to a connection that is turned away, by one write that never waits, and closes it.
    private func refuse(_ child: any Channel) throws {
        var frame = ByteBuffer()
        try ProviderReply.failure(ProviderFailure(.serverBusy, "the provider has too many connections"))
            .encode(id: Wire.noRequest, into: &frame)
        try child.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
            descriptor in
            unsafe frame.withUnsafeReadableBytes { bytes in
                _ = unsafe send(
                    descriptor, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
            }
        }
        child.close(promise: nil)
    }
}
