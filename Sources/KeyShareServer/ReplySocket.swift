internal import Glibc
internal import NIOCore

/// The socket under a channel, to which a reply is written without the channel's queue of writes.
///
/// Nearly every reply fits the socket's buffer at once, and a queue, a promise and its callback cost more than the system
/// call. Nothing may wait in the channel's queue when bytes are sent here. The channel owns the descriptor: whoever has
/// this value drops it where the channel closes.
struct ReplySocket {
    /// The socket; nil where there is none.
    let descriptor: CInt?

    /// No socket: everything goes through the channel.
    init() {
        descriptor = nil
    }

    /// The socket of a channel that is active; none where the channel has no socket, as in tests.
    init(of context: ChannelHandlerContext) {
        let operations = context.pipeline.syncOperations
        descriptor = (try? operations.withUnsafeTransportIfAvailable(of: CInt.self) { $0 }) ?? nil
    }

    /// Gives the kernel as many of the bytes as it takes without waiting.
    ///
    /// - Returns: How many it took; 0 also where the socket fails, which the channel's own write will meet again.
    func send(_ bytes: ByteBuffer) -> Int {
        guard let descriptor else { return 0 }
        return unsafe bytes.withUnsafeReadableBytes { bytes in
            let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
            return unsafe max(Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags), 0)
        }
    }
}
