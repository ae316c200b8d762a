internal import KeySharing
package import NIOCore

/// The protocol's fixed numbers. All of them are frozen for version 1; <doc:Protocol> says what they mean.
package enum Wire {
    /// The versions that this code speaks.
    package static let versions: ClosedRange<UInt16> = 1...1
    /// The longest frame a consumer may send, in bytes, its length field included.
    package static let requestLimit = 4_096
    /// The longest frame a provider may send, in bytes, its length field included.
    package static let replyLimit = 65_536
    /// The longest stretch of content that one `read` may ask for, in bytes.
    package static let chunkLimit = 61_440
    /// The request id of a failure that answers no request, such as one about framing.
    package static let noRequest: UInt32 = 0
    /// The bytes of a frame before its body: length, type, request id.
    package static let headerSize = 9

    /// The types of frames. A reply's is its request's with the high bit set; a failure has its own.
    package enum MessageType: UInt8, Sendable, CaseIterable {
        case hello = 0x01
        case enumerate = 0x02
        case item = 0x03
        case services = 0x04
        case startAccessing = 0x05
        case read = 0x06
        case fetchPassword = 0x07
        case stopAccessing = 0x08
        case present = 0x09
        case choose = 0x0A
        case describe = 0x0B

        case welcome = 0x81
        case page = 0x82
        case itemReply = 0x83
        case servicesReply = 0x84
        case granted = 0x85
        case chunk = 0x86
        case password = 0x87
        case stopped = 0x88
        case rows = 0x89
        case chosen = 0x8A
        case facts = 0x8B
        case failure = 0xFF
    }
}

/// One frame, taken apart but not yet understood.
package struct Frame: Sendable, Equatable {
    /// What it is, as `Wire.MessageType` numbers it.
    package var type: UInt8
    /// Ties a reply to its request; the consumer's choice.
    package var requestID: UInt32
    package var body: ByteBuffer

    package init(type: UInt8, requestID: UInt32, body: ByteBuffer) {
        self.type = type
        self.requestID = requestID
        self.body = body
    }

    /// Takes the first frame off `bytes`; nil, and nothing taken, while it is incomplete.
    ///
    /// The length is judged as soon as its four bytes are there, before anything waits or is allocated.
    ///
    /// - Parameters:
    ///   - bytes: What was received and not used yet.
    ///   - limit: The longest frame permitted, in bytes, its length field included.
    /// - Returns: The frame.
    /// - Throws: `malformed` for a length that no frame may have; the stream is lost then.
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

    /// Appends a frame to `bytes`, whose body `fields` writes; appends nothing when it throws.
    ///
    /// - Parameters:
    ///   - type: What it is.
    ///   - requestID: Ties a reply to its request.
    ///   - bytes: Where it goes.
    ///   - limit: The longest frame permitted, in bytes, its length field included.
    ///   - fields: Writes the body.
    /// - Throws: `refused` where the frame passes `limit`, and what `fields` throws.
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
