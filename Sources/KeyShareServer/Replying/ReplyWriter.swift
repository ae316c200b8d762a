internal import Glibc
internal import KeyShareProtocol
internal import KeyShareWire
internal import NIOCore
internal import SecretMemory

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

/// The encoded replies of one connection that were not yet passed to the channel.
///
/// Passwords and results of key uses in it are overwritten: by this type when it moves to larger memory, and by
/// `ReplyWriter` after the write. The kernel's socket buffer cannot be wiped. A copy by NIO could not be wiped either,
/// but NIO passes this memory directly to write(2).
struct ReplyBuffer {
    /// The frames, in sending order.
    private(set) var bytes = ByteBuffer()
    /// Whether the bytes contain a secret.
    private(set) var isSecret = false

    /// Appends the frame of `reply`.
    ///
    /// - Throws: `refused` if the reply does not fit in a frame; nothing is appended then.
    mutating func append(_ reply: ProviderReply, requestID: UInt32) throws(ProviderFailure) {
        if let secret = reply.secret {
            // Reserve the room first: a buffer that grows while the secret is written would leave a copy in the old
            // memory.
            makeRoom(for: Wire.headerSize + 2 + secret.count)
            try reply.encode(id: requestID, into: &bytes)
            isSecret = true
        } else if isSecret {
            var frame = ByteBuffer()
            try reply.encode(id: requestID, into: &frame)
            append(frame)
        } else {
            try reply.encode(id: requestID, into: &bytes)
        }
    }

    /// Appends an encoded frame that contains no secret.
    mutating func append(_ frame: ByteBuffer) {
        makeRoom(for: frame.readableBytes)
        bytes.writeImmutableBuffer(frame)
    }

    /// Removes the last `count` bytes, for a fault that cuts a reply.
    mutating func dropLast(_ count: Int) {
        bytes.moveWriterIndex(to: max(bytes.writerIndex - count, bytes.readerIndex))
    }

    /// Returns all bytes, and continues with the memory of `spare`, which is empty afterwards. If `spare` contained a
    /// secret, the caller must have overwritten it.
    mutating func takeBytes(reusing spare: inout ByteBuffer) -> (bytes: ByteBuffer, isSecret: Bool) {
        let taken = (bytes, isSecret)
        bytes = ByteBuffer()
        swap(&bytes, &spare)
        bytes.clear()
        isSecret = false
        return taken
    }

    /// Makes room for `count` more bytes, and overwrites the old memory if it held a secret.
    private mutating func makeRoom(for count: Int) {
        guard bytes.writableBytes < count else { return }
        var larger = ByteBuffer()
        larger.reserveCapacity(max(bytes.capacity * 2, bytes.readableBytes + count, 256))
        larger.writeImmutableBuffer(bytes)
        if isSecret {
            bytes.overwrite()
        }
        bytes = larger
    }
}

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
