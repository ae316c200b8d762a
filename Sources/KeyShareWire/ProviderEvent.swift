/// An event that a provider reports to subscribers: a request that it answered, or a connection that opened or closed.
///
/// An event contains names, times and sizes. It never contains a password, a key or content.
package struct ProviderEvent: Sendable, Hashable {
    /// The kind of event.
    package enum Kind: Sendable, Hashable {
        /// A connection was accepted.
        case opened
        /// A request of this type was answered. The type may be unknown to this version.
        case request(UInt8)
        /// A connection ended. `message` contains the reason.
        case closed

        /// The number on the wire: the type of the request, 0 for `opened`, or 255 for `closed`.
        package var number: UInt8 {
            switch self {
            case .opened: 0x00
            case .request(let type): type
            case .closed: 0xFF
            }
        }

        /// Decodes a kind from its number on the wire.
        package init(number: UInt8) {
            self =
                switch number {
                case 0x00: .opened
                case 0xFF: .closed
                default: .request(number)
                }
        }
    }

    /// The kind of event.
    package var kind: Kind
    /// The start of the event, such as the arrival of the request, in microseconds since 1970.
    package var microseconds: UInt64
    /// The time from the request to its reply, in microseconds.
    package var duration: UInt32
    /// The number of the connection. Connections are numbered in the order in which they were accepted.
    package var connection: UInt32
    /// The process ID of the peer, as reported by the kernel at connection time.
    package var processID: Int32
    /// The item, container or row in the request, the types of `present`, or the client name of `hello`.
    package var subject: String
    /// The size of the request frame, in bytes.
    package var received: UInt32
    /// The size of the reply frame, in bytes.
    package var sent: UInt32
    /// The failure code of the reply (`ProviderFailure.Code`), or 0 if the request succeeded.
    package var failure: UInt16
    /// The message of the failure, or the reason why the connection ended. Otherwise empty.
    package var message: String

    /// The maximum length of `subject` and of `message`, in bytes of UTF-8.
    package static let textLimit = 256

    /// Creates an event. Strings that are too long are truncated.
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

    /// The size of the event on the wire, in bytes.
    package var wireSize: Int { 35 + subject.utf8.count + message.utf8.count }

    /// The longest prefix that fits the limit without splitting a Unicode scalar.
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

/// Events in chronological order, with their position in the provider's numbering.
package struct ProviderEventPage: Sendable, Hashable {
    /// The events, oldest first.
    package var events: [ProviderEvent]
    /// The number of the last event in the page, or of the last reported event if the page is empty. Send it with the
    /// next request.
    package var last: UInt64
    /// The number of events after the requested position that the provider had already dropped.
    package var lost: UInt64

    /// Creates a page.
    package init(events: [ProviderEvent], last: UInt64, lost: UInt64) {
        self.events = events
        self.last = last
        self.lost = lost
    }
}
