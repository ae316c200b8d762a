internal import KeyShareProtocol
internal import NIOCore

// The encoding of events in <doc:Protocol>.

extension FieldReader {
    mutating func eventPage() throws(ProviderFailure) -> ProviderEventPage {
        let last = try integer("the last event", as: UInt64.self)
        let lost = try integer("the lost events", as: UInt64.self)
        let events = try list("the events", smallest: 35) { (reader) throws(ProviderFailure) in
            try reader.event()
        }
        return ProviderEventPage(events: events, last: last, lost: lost)
    }

    private mutating func event() throws(ProviderFailure) -> ProviderEvent {
        let kind = ProviderEvent.Kind(number: try integer("the kind of event"))
        let microseconds = try integer("the time", as: UInt64.self)
        let duration = try integer("the duration", as: UInt32.self)
        let connection = try integer("the connection", as: UInt32.self)
        let processID = try integer("the process", as: Int32.self)
        let subject = try eventText("the subject")
        let received = try integer("the bytes received", as: UInt32.self)
        let sent = try integer("the bytes sent", as: UInt32.self)
        let failure = try integer("the failure", as: UInt16.self)
        return ProviderEvent(
            kind, microseconds: microseconds, duration: duration, connection: connection,
            processID: processID, subject: subject, received: received, sent: sent, failure: failure,
            message: try eventText("the message"))
    }

    private mutating func eventText(_ field: StaticString) throws(ProviderFailure) -> String {
        let text = try string(field)
        guard text.utf8.count <= ProviderEvent.textLimit else {
            throw ProviderFailure(.malformed, "\(field) has more than \(ProviderEvent.textLimit) bytes")
        }
        return text
    }
}

extension ByteBuffer {
    mutating func write(_ page: ProviderEventPage) throws(ProviderFailure) {
        writeInteger(page.last)
        writeInteger(page.lost)
        try writeList(page.events) { (bytes, event) throws(ProviderFailure) in
            bytes.writeInteger(event.kind.number)
            bytes.writeInteger(event.microseconds)
            bytes.writeInteger(event.duration)
            bytes.writeInteger(event.connection)
            bytes.writeInteger(event.processID)
            try bytes.writeField(event.subject)
            bytes.writeInteger(event.received)
            bytes.writeInteger(event.sent)
            bytes.writeInteger(event.failure)
            try bytes.writeField(event.message)
        }
    }
}
