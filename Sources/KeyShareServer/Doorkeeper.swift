internal import KeyShareWire
internal import LocalSockets
internal import Glibc
internal import KeySharing
internal import Logging
internal import NIOCore

/// Looks at every accepted connection before a byte of it is read, and keeps the accepting alive.
///
/// Sits in the listening channel's pipeline. Strangers and whoever there is no room for are closed here,
/// before they are registered for reading; everybody else gets a `ConnectionHandler`.
final class Doorkeeper: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    private let connections: Connections
    private let acceptsPeer: @Sendable (PeerIdentity) -> Bool

    init(connections: Connections, acceptsPeer: @escaping @Sendable (PeerIdentity) -> Bool) {
        self.connections = connections
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
                connections.warn(
                    "a stranger was turned away",
                    ["uid": "\((peer ?? nil).map { String($0.userID) } ?? "unknown")"])
                child.close(promise: nil)
                return
            }
            guard let handler = connections.arrive(peer) else {
                connections.warn(
                    "no room for a connection", ["pid": "\(peer.processID)"])
                try refuse(child)
                return
            }
            do {
                try child.pipeline.syncOperations.addHandler(handler)
            } catch {
                connections.left(handler.id)
                throw error
            }
            context.fireChannelRead(data)
        } catch {
            connections.warn("an accepted connection was lost", ["error": "\(error)"])
            child.close(promise: nil)
        }
    }

    /// No descriptor was left for an accept. One connection goes; the accept is tried again at once, since
    /// the newcomer still waits. With nobody to send away, the next handler's pause is the best there is.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) {
            connections.warn("no descriptor is left", ["error": "\(error)"])
            if connections.makeRoom() { return }
        }
        context.fireErrorCaught(error)
    }

    /// Says why, as far as one write that never waits can, and closes.
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
