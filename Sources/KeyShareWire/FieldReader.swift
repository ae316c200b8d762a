internal import Foundation
internal import KeySharing
internal import NIOCore

/// Reads the fields of a message's body in order, and checks every read against the bytes that are left.
///
/// Each method takes the field's name for its error. All of them throw `ProviderFailure` `malformed` where the body
/// ends inside the field or the field holds a value that the protocol forbids. <doc:Protocol> describes the encodings.
struct FieldReader {
    private var body: ByteBuffer

    /// Reads from the first byte of `body`.
    init(_ body: ByteBuffer) {
        self.body = body
    }

    /// How many bytes are left.
    var remaining: Int { body.readableBytes }

    /// Reads a big-endian integer of the width of `Value`.
    mutating func integer<Value: FixedWidthInteger>(
        _ field: StaticString, as type: Value.Type = Value.self
    ) throws(ProviderFailure) -> Value {
        guard let value = body.readInteger(as: Value.self) else { throw Self.ends(in: field) }
        return value
    }

    /// Reads a byte that is 0 or 1.
    mutating func flag(_ field: StaticString) throws(ProviderFailure) -> Bool {
        switch try integer(field, as: UInt8.self) {
        case 0: return false
        case 1: return true
        default: throw ProviderFailure(.malformed, "\(field) is neither 0 nor 1")
        }
    }

    /// Reads a count of bytes (16 bits) and that many bytes of UTF-8.
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

    /// Reads a text of at most `Wire.identifierLimit` bytes.
    mutating func identifier(_ field: StaticString) throws(ProviderFailure) -> String {
        let text = try string(field)
        guard text.utf8.count <= Wire.identifierLimit else {
            throw ProviderFailure(.malformed, "\(field) has over \(Wire.identifierLimit) bytes")
        }
        return text
    }

    /// Reads a list of texts.
    mutating func strings(_ field: StaticString) throws(ProviderFailure) -> [String] {
        try list(field, smallest: 2) { (reader) throws(ProviderFailure) in try reader.string(field) }
    }

    /// Reads a count (16 bits) and that many values.
    ///
    /// - Parameter smallest: The fewest bytes of one value. A count that the rest cannot hold is refused before
    ///   anything is allocated for it.
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

    /// Reads a flag, and the value that follows a flag of 1; returns nil for a flag of 0.
    mutating func optional<Value>(
        _ field: StaticString, _ read: (inout FieldReader) throws(ProviderFailure) -> Value
    ) throws(ProviderFailure) -> Value? {
        try flag(field) ? try read(&self) : nil
    }

    /// Reads a number of bytes (64 bits, unsigned), and refuses one that `Int` cannot hold.
    mutating func size(_ field: StaticString) throws(ProviderFailure) -> Int {
        guard let value = Int(exactly: try integer(field, as: UInt64.self)) else {
            throw ProviderFailure(.malformed, "\(field) is too great")
        }
        return value
    }

    /// Reads milliseconds since 1970 (64 bits, signed).
    mutating func date(_ field: StaticString) throws(ProviderFailure) -> Date {
        Date(timeIntervalSince1970: Double(try integer(field, as: Int64.self)) / 1_000)
    }

    /// Reads an optional text that asks for the next page; nil for the first page or after the last one.
    mutating func cursor() throws(ProviderFailure) -> String? {
        try optional("the cursor") { (reader) throws(ProviderFailure) in try reader.string("the cursor") }
    }

    /// Reads so many bytes; nil where fewer are left.
    mutating func octets(_ count: Int) -> [UInt8]? {
        body.readBytes(length: count)
    }

    /// Reads all bytes that are left.
    mutating func rest() -> ByteBuffer {
        let rest = body
        body.moveReaderIndex(to: body.writerIndex)
        return rest
    }

    /// Checks that every byte was read.
    ///
    /// - Throws: `malformed` where bytes are left.
    func end() throws(ProviderFailure) {
        guard remaining == 0 else {
            throw ProviderFailure(.malformed, "\(remaining) bytes stand behind the last field")
        }
    }

    private static func ends(in field: StaticString) -> ProviderFailure {
        ProviderFailure(.malformed, "the message ends inside \(field)")
    }
}
