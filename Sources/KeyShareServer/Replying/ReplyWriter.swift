internal import KeyShareWire
internal import NIOCore

/// Writes the encoded replies of one connection, one write at a time, and wipes secrets after the write.
///
/// Replies that are encoded during a write wait in `replies`. It is used only on the channel's event loop.
final class ReplyWriter {
    /// The encoded replies that are not part of a write yet.
    var replies = ReplyBuffer()
    private var context: ChannelHandlerContext?
    private var socket = DirectSocket()
    private var didWrite: (_ count: Int, _ isDeferred: Bool) -> Void = { _, _ in }
    private var inFlight: (bytes: ByteBuffer, isSecret: Bool)?
    /// The memory of the last write, for reuse by the next one.
    private var spare = ByteBuffer()
    /// Whether the write in progress belongs to a batch that was not submitted yet.
    private(set) var isInBatch = false

    var isWriting: Bool { inFlight != nil }

    /// The bytes of the write in progress; empty if there is none.
    var bytesInFlight: ByteBuffer { inFlight?.bytes ?? ByteBuffer() }

    /// The socket for direct writes; nil if every write must go through the channel.
    var descriptor: CInt? { socket.descriptor }

    /// Connects the writer to a channel.
    ///
    /// - Parameters:
    ///   - context: The context of the handler that owns the writer.
    ///   - didWrite: Called after each write, whether it succeeded or failed, with the number of bytes and whether the
    ///     call that began the write has returned already.
    func attach(
        to context: ChannelHandlerContext, didWrite: @escaping (_ count: Int, _ isDeferred: Bool) -> Void
    ) {
        self.context = context
        self.didWrite = didWrite
    }

    /// Allows direct writes to the channel's socket. Call it when the channel becomes active.
    func enableDirectWrites() {
        if let context { socket = DirectSocket(of: context) }
    }

    /// Sends all further bytes through the channel, because the channel may close the descriptor.
    func disableDirectWrites() {
        socket = DirectSocket()
    }

    /// Disconnects the writer from its channel, and wipes the replies that were never written.
    func detach() {
        context = nil
        didWrite = { _, _ in }
        if replies.isSecret {
            replies.bytes.overwrite()
        }
    }

    /// Writes the encoded replies to the socket, and passes the rest to the channel.
    ///
    /// - Returns: Whether all of them were written before the call returned.
    func flush() -> Bool {
        guard beginWrite() else { return false }
        return endWrite(after: socket.send(bytesInFlight))
    }

    /// Begins to write the encoded replies, and leaves the write to a batch, which calls `endWrite(after:)`.
    ///
    /// - Returns: Whether a write began. False if no reply is pending, a write is in progress, or there is no socket.
    func beginBatchWrite() -> Bool {
        guard descriptor != nil, beginWrite() else { return false }
        isInBatch = true
        return true
    }

    private func beginWrite() -> Bool {
        guard context != nil, inFlight == nil, replies.bytes.readableBytes > 0 else { return false }
        inFlight = replies.takeBytes(reusing: &spare)
        return true
    }

    /// Ends the write in progress after the socket accepted `count` bytes. The channel writes the rest.
    ///
    /// - Returns: Whether everything was written before the call returned.
    @discardableResult func endWrite(after count: Int) -> Bool {
        isInBatch = false
        var rest = bytesInFlight
        rest.moveReaderIndex(forwardBy: count)
        guard let context, rest.readableBytes > 0 else {
            finishWrite(isDeferred: false)
            return true
        }
        let promise = context.eventLoop.makePromise(of: Void.self)
        var isWithinCall = true
        var isWritten = false
        promise.futureResult.assumeIsolated().whenComplete { [self] result in
            isWritten = true
            if case .failure = result { disableDirectWrites() }
            if !isWithinCall { finishWrite(isDeferred: true) }
        }
        context.writeAndFlush(NIOAny(rest), promise: promise)
        isWithinCall = false
        if isWritten { finishWrite(isDeferred: false) }
        return isWritten
    }

    private func finishWrite(isDeferred: Bool) {
        guard let written = inFlight.take() else { return }
        if written.isSecret {
            written.bytes.overwrite()
        }
        // Keeping the memory of a long reply would occupy it for the life of the connection.
        if written.bytes.capacity <= 4_096 {
            spare = written.bytes
        }
        didWrite(written.bytes.readableBytes, isDeferred)
    }
}
