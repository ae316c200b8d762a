internal import SecretMemory
internal import KeyShareWire
internal import Glibc
internal import KeySharing
internal import NIOCore

/// The encoded replies of one connection that the channel does not have yet.
///
/// Secrets in it are overwritten: when the memory is left for a greater one here, and when the channel has
/// written it (`overwrite`). What that cannot reach: the kernel's socket buffer, and a copy that NIO might
/// make on its way. (Today it makes none: it hands this memory to `write(2)`.)
struct Outbox {
    private(set) var bytes = ByteBuffer()
    /// Whether a password is among the bytes.
    private(set) var isSecret = false

    /// Appends a reply's frame.
    ///
    /// - Throws: `refused` where it does not fit a frame; nothing is appended then.
    mutating func append(_ reply: ProviderReply, requestID: UInt32) throws(ProviderFailure) {
        if case .password(let password) = reply {
            // Room first: a buffer that grows under the secret would leave its old memory behind.
            makeRoom(for: Wire.headerSize + 2 + password.count)
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

    /// Appends a frame that is encoded already, and holds no secret.
    mutating func append(_ frame: ByteBuffer) {
        makeRoom(for: frame.readableBytes)
        bytes.writeImmutableBuffer(frame)
    }

    /// Takes back the last bytes.
    mutating func dropLast(_ count: Int) {
        bytes.moveWriterIndex(to: max(bytes.writerIndex - count, bytes.readerIndex))
    }

    /// Gives everything away, and goes on with the memory of `spare`, which must be overwritten by now.
    mutating func take(leaving spare: ByteBuffer) -> (bytes: ByteBuffer, isSecret: Bool) {
        let taken = (bytes, isSecret)
        bytes = spare
        bytes.clear()
        isSecret = false
        return taken
    }

    private mutating func makeRoom(for count: Int) {
        guard bytes.writableBytes < count else { return }
        var greater = ByteBuffer()
        greater.reserveCapacity(max(bytes.capacity * 2, bytes.readableBytes + count, 256))
        greater.writeImmutableBuffer(bytes)
        if isSecret {
            bytes.overwrite()
        }
        bytes = greater
    }
}
