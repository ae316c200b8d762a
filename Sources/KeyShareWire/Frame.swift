package import NIOCore

/// A frame of the protocol: type, request id, and a body that is not decoded yet.
package struct Frame: Sendable, Equatable {
    /// The type of the message, as `Wire.MessageType` numbers it. It may be a number that nobody knows.
    package var type: UInt8
    /// The id of the request. The consumer chooses it, and the reply repeats it.
    package var requestID: UInt32
    /// The fields of the message.
    package var body: ByteBuffer

    /// Makes a frame from its parts.
    package init(type: UInt8, requestID: UInt32, body: ByteBuffer) {
        self.type = type
        self.requestID = requestID
        self.body = body
    }

    /// Removes the first frame from `bytes`.
    ///
    /// The length is checked as soon as its four bytes have arrived, before anything is allocated for the frame.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that were received and not used yet.
    ///   - limit: The longest frame permitted, in bytes, its length field included.
    /// - Returns: The frame; nil while it is incomplete, with `bytes` as they were.
    /// - Throws: `malformed` for a length that no frame may have. The next frame cannot be found then.
    package static func next(
        from bytes: inout ByteBuffer, limit: Int
    ) throws(ProviderFailure) -> Frame? {
        guard let length = bytes.getInteger(at: bytes.readerIndex, as: UInt32.self) else { return nil }
        guard length >= 5, Int(length) + 4 <= limit else {
            throw ProviderFailure(.malformed, "a frame of \(length) bytes is outside 5 to \(limit - 4)")
        }
        guard bytes.readableBytes >= Int(length) + 4 else { return nil }
        bytes.moveReaderIndex(forwardBy: 4)
        guard let type = bytes.readInteger(as: UInt8.self),
            let requestID = bytes.readInteger(as: UInt32.self),
            let body = bytes.readSlice(length: Int(length) - 5)
        else { return nil }
        return Frame(type: type, requestID: requestID, body: body)
    }

    /// Appends a frame to `bytes`. Where it throws, `bytes` stay as they were.
    ///
    /// - Parameters:
    ///   - type: The type of the message.
    ///   - requestID: The id of the request.
    ///   - bytes: The buffer that gets the frame.
    ///   - limit: The longest frame permitted, in bytes, its length field included.
    ///   - fields: Writes the body.
    /// - Throws: `refused` where the frame is longer than `limit`, and what `fields` throws.
    static func append(
        _ type: Wire.MessageType, requestID: UInt32, to bytes: inout ByteBuffer, limit: Int,
        fields: (inout ByteBuffer) throws(ProviderFailure) -> Void
    ) throws(ProviderFailure) {
        let start = bytes.writerIndex
        bytes.writeInteger(UInt32(0))
        bytes.writeInteger(type.rawValue)
        bytes.writeInteger(requestID)
        do {
            try fields(&bytes)
        } catch {
            bytes.moveWriterIndex(to: start)
            throw error
        }
        let size = bytes.writerIndex - start
        guard size <= limit else {
            bytes.moveWriterIndex(to: start)
            throw ProviderFailure(.refused, "a message of \(size) bytes is longer than \(limit)")
        }
        bytes.setInteger(UInt32(size - 4), at: start)
    }
}
