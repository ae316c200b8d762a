internal import Foundation
internal import KeySharing
internal import NIOCore

/// Reads the fields of a body one after the other; every read is checked against what is left.
struct FieldReader {
    private var body: ByteBuffer

    init(_ body: ByteBuffer) {
        self.body = body
    }

    /// How many bytes are left.
    var remaining: Int { body.readableBytes }

    mutating func integer<Value: FixedWidthInteger>(
        _ field: StaticString, as type: Value.Type = Value.self
    ) throws(ProviderFailure) -> Value {
        guard let value = body.readInteger(as: Value.self) else { throw Self.ends(in: field) }
        return value
    }

    mutating func flag(_ field: StaticString) throws(ProviderFailure) -> Bool {
        switch try integer(field, as: UInt8.self) {
        case 0: return false
        case 1: return true
        default: throw ProviderFailure(.malformed, "\(field) is neither 0 nor 1")
        }
    }

    mutating func string(_ field: StaticString) throws(ProviderFailure) -> String {
        let length = Int(try integer(field, as: UInt16.self))
        let text: String?
        do {
            text = try body.readUTF8ValidatedString(length: length)
        } catch {
            throw ProviderFailure(.malformed, "\(field) is not UTF-8")
        }
        guard let text else { throw Self.ends(in: field) }
        return text
    }

    mutating func strings(_ field: StaticString) throws(ProviderFailure) -> [String] {
        try list(field, smallest: 2) { (reader) throws(ProviderFailure) in try reader.string(field) }
    }

    /// A count and that many values, each of at least `smallest` bytes, so that a lying count allocates
    /// nothing.
    mutating func list<Value>(
        _ field: StaticString, smallest: Int,
        _ read: (inout FieldReader) throws(ProviderFailure) -> Value
    ) throws(ProviderFailure) -> [Value] {
        let count = Int(try integer(field, as: UInt16.self))
        guard count * smallest <= remaining else { throw Self.ends(in: field) }
        var values: [Value] = []
        values.reserveCapacity(count)
        for _ in 0..<count {
            values.append(try read(&self))
        }
        return values
    }

    mutating func optional<Value>(
        _ field: StaticString, _ read: (inout FieldReader) throws(ProviderFailure) -> Value
    ) throws(ProviderFailure) -> Value? {
        try flag(field) ? try read(&self) : nil
    }

    mutating func size(_ field: StaticString) throws(ProviderFailure) -> Int {
        guard let value = Int(exactly: try integer(field, as: UInt64.self)) else {
            throw ProviderFailure(.malformed, "\(field) is too great")
        }
        return value
    }

    mutating func date(_ field: StaticString) throws(ProviderFailure) -> Date {
        Date(timeIntervalSince1970: Double(try integer(field, as: Int64.self)) / 1_000)
    }

    /// Everything that is left.
    mutating func rest() -> ByteBuffer {
        let rest = body
        body.moveReaderIndex(to: body.writerIndex)
        return rest
    }

    /// - Throws: `malformed` unless everything was read.
    func end() throws(ProviderFailure) {
        guard remaining == 0 else {
            throw ProviderFailure(.malformed, "\(remaining) bytes stand behind the last field")
        }
    }

    private static func ends(in field: StaticString) -> ProviderFailure {
        ProviderFailure(.malformed, "the message ends inside \(field)")
    }
}

extension ByteBuffer {
    /// - Throws: `refused` where the text has more bytes than the length field can say.
    mutating func writeField(_ text: String) throws(ProviderFailure) {
        var text = text
        let length = text.utf8.count
        guard let short = UInt16(exactly: length) else {
            throw ProviderFailure(.refused, "a text of \(length) bytes does not fit its field")
        }
        text.makeContiguousUTF8()
        writeInteger(short)
        writeString(text)
    }

    /// - Throws: `refused` for more values than the count can say, and what `write` throws.
    mutating func writeList<Value>(
        _ values: [Value], _ write: (inout ByteBuffer, Value) throws(ProviderFailure) -> Void
    ) throws(ProviderFailure) {
        guard let count = UInt16(exactly: values.count) else {
            throw ProviderFailure(.refused, "\(values.count) values do not fit one message")
        }
        writeInteger(count)
        for value in values {
            try write(&self, value)
        }
    }

    /// - Throws: As `writeList` and `writeField(_:)` with a text.
    mutating func writeField(_ texts: [String]) throws(ProviderFailure) {
        try writeList(texts) { (bytes, text) throws(ProviderFailure) in try bytes.writeField(text) }
    }

    mutating func writeFlag(_ flag: Bool) {
        writeInteger(UInt8(flag ? 1 : 0))
    }

    /// - Throws: What `write` throws.
    mutating func writeOptional<Value>(
        _ value: Value?, _ write: (inout ByteBuffer, Value) throws(ProviderFailure) -> Void
    ) throws(ProviderFailure) {
        writeFlag(value != nil)
        if let value {
            try write(&self, value)
        }
    }

    /// Milliseconds since 1970; a time outside what 64 bits hold becomes the nearest that they do.
    mutating func writeField(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
        writeInteger(Int64(exactly: milliseconds) ?? (milliseconds < 0 ? Int64.min : Int64.max))
    }
}
