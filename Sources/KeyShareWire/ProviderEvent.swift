/// Something that a provider tells a subscriber of: a request that it answered, or a connection that began or ended.
///
/// An event holds names, times and sizes: never a password, a key, or a byte of content.
package struct ProviderEvent: Sendable, Hashable {
    /// What happened.
    package enum Kind: Sendable, Hashable {
        /// A connection was accepted.
        case opened
        /// A request of this type was answered. The type may be one that only a later version knows.
        case request(UInt8)
        /// A connection ended; `message` says why.
        case closed

        /// The number on the wire: the request's type, 0 and 255 for the ends of a connection.
        package var number: UInt8 {
            switch self {
            case .opened: 0x00
            case .request(let type): type
            case .closed: 0xFF
            }
        }

        /// Makes a kind from its number on the wire.
        package init(number: UInt8) {
            self =
                switch number {
                case 0x00: .opened
                case 0xFF: .closed
                default: .request(number)
                }
        }
    }

    /// What happened.
    package var kind: Kind
    /// When it began, in microseconds since 1970: when the request arrived.
    package var microseconds: UInt64
    /// How long the provider took to answer, in microseconds.
    package var duration: UInt32
    /// The number of the connection, in the order of arrival.
    package var connection: UInt32
    /// The process at the other end, as the kernel named it when it connected.
    package var processID: Int32
    /// The item, the container or the row that the request names; the types of `present`; the client's name of `hello`.
    package var subject: String
    /// The bytes of the request's frame.
    package var received: UInt32
    /// The bytes of the reply's frame.
    package var sent: UInt32
    /// The code of the failure that answered the request (`ProviderFailure.Code`); 0 for any other answer.
    package var failure: UInt16
    /// What the failure says, or why the connection ended; empty otherwise.
    package var message: String

    /// The longest `subject` and `message`, in bytes of UTF-8.
    package static let textLimit = 256

    /// Makes an event from its fields; texts that are too long are cut.
    package init(
        _ kind: Kind, microseconds: UInt64, duration: UInt32 = 0, connection: UInt32, processID: Int32,
        subject: String = "", received: UInt32 = 0, sent: UInt32 = 0, failure: UInt16 = 0,
        message: String = ""
    ) {
        self.kind = kind
        self.microseconds = microseconds
        self.duration = duration
        self.connection = connection
        self.processID = processID
        self.subject = Self.cut(subject)
        self.received = received
        self.sent = sent
        self.failure = failure
        self.message = Self.cut(message)
    }

    /// The bytes of the event on the wire.
    package var wireSize: Int { 35 + subject.utf8.count + message.utf8.count }

    /// The longest start of a text that fits the limit, in whole characters of Unicode.
    private static func cut(_ text: String) -> String {
        guard text.utf8.count > textLimit else { return text }
        var scalars = String.UnicodeScalarView()
        var size = 0
        for scalar in text.unicodeScalars {
            size += UTF8.width(scalar)
            guard size <= textLimit else { break }
            scalars.append(scalar)
        }
        return String(scalars)
    }
}

/// Events in the order in which they happened, and where they stand in the provider's numbering.
package struct ProviderEventPage: Sendable, Hashable {
    /// The events.
    package var events: [ProviderEvent]
    /// The number of the last of them, or of the last that the provider has told of; to be sent with the next request.
    package var last: UInt64
    /// How many events between the one that was asked for and the first here the provider had dropped already.
    package var lost: UInt64

    /// Makes a page from its fields.
    package init(events: [ProviderEvent], last: UInt64, lost: UInt64) {
        self.events = events
        self.last = last
        self.lost = lost
    }
}
