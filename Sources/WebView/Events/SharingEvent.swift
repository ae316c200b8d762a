package import Foundation
internal import KeyShareProtocol
internal import KeyShareWire

/// An event between provider, consumer and device, as the page draws it and a recording stores it.
///
/// It contains names, times, sizes and outcomes: never a password, a key, or a byte of content.
package struct SharingEvent: Codable, Sendable, Equatable {
    /// The number of the event, starting at 1. Gaps show a page how many events it has lost.
    package var number = 0
    /// The start time, in milliseconds since 1970.
    package var time: Double
    /// The time until the provider's answer, in milliseconds; nil for events that are not requests.
    package var duration: Double?
    /// The kind: the name of a request in the protocol's documentation, `opened` or `closed` for a connection, or an
    /// event of the device such as `locked`.
    package var kind: String
    /// The number of the connection; nil for events of the device.
    package var connection: Int?
    /// The ID of the process at the other end of the connection; nil for events of the device.
    package var process: Int?
    /// The name that the client gave for itself, or nil if it is unknown.
    package var client: String?
    /// The item, container, types or app that the event concerns, or empty.
    package var subject = ""
    /// The size of the request in bytes; nil for events that are not requests.
    package var received: Int?
    /// The size of the answer in bytes; nil for events that are not requests.
    package var sent: Int?
    /// `ok`, or the name of the failure.
    package var outcome = "ok"
    /// The message of the failure, or empty.
    package var message = ""

    /// Creates an event of the device.
    package init(
        _ kind: String, at time: Date, subject: String = "", outcome: String = "ok", message: String = ""
    ) {
        self.kind = kind
        self.time = time.timeIntervalSince1970 * 1_000
        self.subject = subject
        self.outcome = outcome
        self.message = message
    }

    /// Creates an event that a provider reported.
    init(_ event: ProviderEvent) {
        time = Double(event.microseconds) / 1_000
        connection = Int(event.connection)
        process = Int(event.processID)
        subject = event.subject
        message = event.message
        switch event.kind {
        case .opened: kind = "opened"
        case .closed: kind = "closed"
        case .request(let type):
            // A request type of a later protocol version has no name here, only a number.
            kind = Wire.MessageType(rawValue: type).map { "\($0)" } ?? "request-\(type)"
            duration = Double(event.duration) / 1_000
            received = Int(event.received)
            sent = Int(event.sent)
        }
        if event.failure == Wire.tokenFailureCode {
            outcome = "tokenFailure"
        } else if event.failure != 0 {
            outcome =
                ProviderFailure.Code(rawValue: event.failure).map { "\($0)" } ?? "failure-\(event.failure)"
        }
    }
}
