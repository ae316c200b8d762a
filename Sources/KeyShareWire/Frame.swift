internal import KeyShareProtocol
package import NIOCore

/// A frame of the protocol: type, request ID, and an undecoded body.
package struct Frame: Sendable, Equatable {
    /// The type of the message, numbered as in `Wire.MessageType`. It may be an unknown number.
    package var type: UInt8
    /// The request ID. The consumer chooses it, and the reply repeats it.
    package var requestID: UInt32
    /// The fields of the message.
    package var body: ByteBuffer

    /// Creates a frame.
    package init(type: UInt8, requestID: UInt32, body: ByteBuffer) {
        self.type = type
        self.requestID = requestID
        self.body = body
    }

    /// The type as the protocol page writes it, such as `0x0A`.
    var typeName: String {
        (type < 0x10 ? "0x0" : "0x") + String(type, radix: 16, uppercase: true)
    }

    /// Removes the first frame from `bytes`.
    ///
    /// The length is checked as soon as its four bytes have arrived, before any memory is allocated for the frame.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that were received and not parsed yet.
    ///   - limit: The longest permitted frame, in bytes, including its length field.
    /// - Returns: The frame, or nil if it is incomplete. In that case `bytes` is unchanged.
    /// - Throws: `malformed` if the length is out of range. The start of the next frame is then unknown.
    package static func next(
        from bytes: inout ByteBuffer, limit: Int
    ) throws(ProviderFailure) -> Frame? {
        guard let length = bytes.getInteger(at: bytes.readerIndex, as: UInt32.self) else { return nil }
        guard length >= 5, Int(length) + 4 <= limit else {
            throw ProviderFailure(
                .malformed, "a frame of \(length) bytes is outside the range 5 to \(limit - 4)")
        }
        guard bytes.readableBytes >= Int(length) + 4 else { return nil }
        bytes.moveReaderIndex(forwardBy: 4)
        guard let type = bytes.readInteger(as: UInt8.self),
            let requestID = bytes.readInteger(as: UInt32.self),
            let body = bytes.readSlice(length: Int(length) - 5)
        else { return nil }
        return Frame(type: type, requestID: requestID, body: body)
    }

    /// Appends a frame to `bytes`. If it throws, `bytes` is unchanged.
    ///
    /// - Parameters:
    ///   - type: The type of the message.
    ///   - requestID: The request ID.
    ///   - bytes: The buffer to append to.
    ///   - limit: The longest permitted frame, in bytes, including its length field.
    ///   - fields: Writes the body.
    /// - Throws: `refused` if the frame is longer than `limit`, and the errors of `fields`.
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
