/// The fixed numbers of the protocol's version 1, described in <doc:Protocol>. None of them may change.
package enum Wire {
    /// The versions of the protocol that this code speaks.
    package static let versions: ClosedRange<UInt16> = 1...1
    /// The longest frame that a consumer may send, in bytes, its length field included.
    package static let requestLimit = 4_096
    /// The longest frame that a provider may send, in bytes, its length field included.
    package static let replyLimit = 65_536
    /// The longest part of content that one `read` may ask for, in bytes.
    package static let chunkLimit = 61_440
    /// The request id of a failure that answers no request, such as a failure about framing.
    package static let noRequest: UInt32 = 0
    /// The number of bytes of a frame before its body: length, type, request id.
    package static let headerSize = 9

    /// The types of frames. The type of a reply is the type of its request with the high bit set; a failure has a type
    /// of its own.
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
