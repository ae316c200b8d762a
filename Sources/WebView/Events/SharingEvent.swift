package import Foundation
internal import KeyShareWire

/// One thing that happened between provider, consumer and device, as the page draws it and a recording keeps it.
///
/// It holds names, times, sizes and outcomes: never a password, a key, or a byte of content.
package struct SharingEvent: Codable, Sendable, Equatable {
    /// The number of the event, from 1; the page sees by a gap how many it has lost.
    package var number = 0
    /// When it began, in milliseconds since 1970.
    package var time: Double
    /// How long the provider took to answer, in milliseconds; nil for what is no request.
    package var duration: Double?
    /// What happened: the name of a request as the protocol's description has it, `opened` or `closed` of a connection,
    /// or something that the device tells of, such as `locked`.
    package var kind: String
    /// The number of the connection; nil for what the device tells of.
    package var connection: Int?
    /// The process at the other end of the connection, or nil.
    package var process: Int?
    /// What the consumer calls itself; nil where it is not known.
    package var client: String?
    /// The item, the container, the types or the app that it is about; empty where there is none.
    package var subject = ""
    /// The bytes of the request.
    package var received: Int?
    /// The bytes of the answer.
    package var sent: Int?
    /// `ok`, or the name of the failure.
    package var outcome = "ok"
    /// What the failure says; empty otherwise.
    package var message = ""

    /// Makes an event that the device tells of.
    package init(
        _ kind: String, at time: Date, subject: String = "", outcome: String = "ok", message: String = ""
    ) {
        self.kind = kind
        self.time = time.timeIntervalSince1970 * 1_000
        self.subject = subject
        self.outcome = outcome
        self.message = message
    }

    /// Makes an event that a provider told of.
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
            // A request of a later version has a number only.
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
