internal import KeyShareProtocol
internal import KeyShareWire
internal import NIOCore
internal import SecretMemory

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
