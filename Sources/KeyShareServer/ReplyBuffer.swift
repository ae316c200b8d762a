internal import KeyShareWire
internal import NIOCore
internal import SecretMemory

/// The encoded replies of one connection that have not been handed to the channel yet.
///
/// Passwords and results of keys in it are overwritten: by this type when it moves to larger memory, and by `ConnectionHandler` when the
/// channel has written the bytes. The kernel's socket buffer is out of reach, and so is a copy that NIO might make;
/// NIO makes none today, it passes this memory to write(2).
struct ReplyBuffer {
    /// The frames, in the order in which they are sent.
    private(set) var bytes = ByteBuffer()
    /// Tells whether a secret is among the bytes.
    private(set) var isSecret = false

    /// Appends the frame of `reply`.
    ///
    /// - Throws: `refused` where the reply does not fit a frame; nothing is appended then.
    mutating func append(_ reply: ProviderReply, requestID: UInt32) throws(ProviderFailure) {
        if let secret = reply.secret {
            // The room is made first: a buffer that grew while the secret is written would leave a copy behind.
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

    /// Appends a frame that is encoded already and holds no secret.
    mutating func append(_ frame: ByteBuffer) {
        makeRoom(for: frame.readableBytes)
        bytes.writeImmutableBuffer(frame)
    }

    /// Removes the last `count` bytes, for a fault that cuts a reply.
    mutating func dropLast(_ count: Int) {
        bytes.moveWriterIndex(to: max(bytes.writerIndex - count, bytes.readerIndex))
    }

    /// Returns all bytes, and continues with the memory of `spare`, which is empty then. A caller whose `spare` held a
    /// secret must have overwritten it.
    mutating func take(reusing spare: inout ByteBuffer) -> (bytes: ByteBuffer, isSecret: Bool) {
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
