/// The limits for reading messages.
package enum MailLimits {
    /// The maximum size of the headers of a message or of a part, in bytes.
    package static let headers = 256 << 10
    /// The maximum number of header fields of a message or of a part.
    package static let fields = 1_000
    /// The maximum number of parameters in a field; programs could find other ones in a longer list.
    package static let parameters = 200
    /// The maximum number of addresses in a field, and of alternative names of a signer that are compared with them.
    package static let addresses = 1_000
    /// The maximum number of characters of a field that are shown for each part.
    package static let shownValue = 1_024
    /// The number of nested encryptions and signatures at which a message is rejected.
    package static let layers = 8
    /// The maximum length of a boundary between parts, in bytes. RFC 2046, 5.1.1, allows 70.
    package static let boundary = 200
    /// The maximum number of parts of a multipart/mixed message, across all levels.
    package static let parts = 1_000
    /// The number of signatures in all parts of a message after which no further part is opened.
    package static let signatures = 1_000
    /// The maximum number of nested multipart/mixed levels.
    package static let partLevels = 4
    /// The maximum number of nested parts and messages when all parts of a message are read.
    package static let messageLevels = 16
    /// The maximum number of bytes in all parts and in the content of all layers when all parts of a message are read, as
    /// a multiple of the size of the message. Each level of nesting adds the size of the parts inside it.
    package static let copies = 40
    /// The maximum size of a detached signature, in bytes.
    package static let signature = 8 << 20
    /// The maximum number of files in a folder of messages.
    package static let files = 100_000
}
