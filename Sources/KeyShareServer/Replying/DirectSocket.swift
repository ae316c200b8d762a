internal import Glibc
internal import NIOCore

/// A channel's socket, for replies that bypass the channel's queue of writes.
///
/// Nearly every reply fits the socket's buffer immediately, and a queue, a promise and its callback cost more than the
/// system call. The channel's queue must be empty when bytes are sent here. The channel owns the descriptor, so drop
/// this value when the channel closes.
struct DirectSocket {
    /// The descriptor of the socket; nil if there is none.
    let descriptor: CInt?

    /// Creates a value without a socket, which sends everything through the channel.
    init() {
        descriptor = nil
    }

    /// The socket of an active channel. In tests, a channel may have no socket.
    init(of context: ChannelHandlerContext) {
        let operations = context.pipeline.syncOperations
        descriptor = (try? operations.withUnsafeTransportIfAvailable(of: CInt.self) { $0 }) ?? nil
    }

    /// Writes as many bytes as the kernel accepts without blocking.
    ///
    /// - Returns: The number of accepted bytes. Also 0 if the socket fails, because the channel's own write will then
    ///   report the failure.
    func send(_ bytes: ByteBuffer) -> Int {
        guard let descriptor else { return 0 }
        return unsafe bytes.withUnsafeReadableBytes { bytes in
            let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
            return unsafe max(Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags), 0)
        }
    }
}
