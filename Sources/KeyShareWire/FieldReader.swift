internal import Foundation
internal import KeyShareProtocol
internal import KeySharing
internal import NIOCore

/// Reads the fields of a message's body in order and checks every read against the number of remaining bytes.
///
/// Each method takes the field's name for error messages. All methods throw `ProviderFailure` `malformed` if the body
/// ends inside the field or the field contains a value that the protocol forbids. <doc:Protocol> describes the
/// encodings.
struct FieldReader {
    private var body: ByteBuffer

    /// Starts at the first byte of `body`.
    init(_ body: ByteBuffer) {
        self.body = body
    }

    /// The number of remaining bytes.
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

    /// Reads a byte count (16 bits) and that many bytes of UTF-8.
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

    /// Reads a string of at most `Wire.identifierLimit` bytes.
    mutating func identifier(_ field: StaticString) throws(ProviderFailure) -> String {
        let text = try string(field)
        guard text.utf8.count <= Wire.identifierLimit else {
            throw ProviderFailure(.malformed, "\(field) has more than \(Wire.identifierLimit) bytes")
        }
        return text
    }

    /// Reads a list of strings.
    mutating func strings(_ field: StaticString) throws(ProviderFailure) -> [String] {
        try list(field, smallest: 2) { (reader) throws(ProviderFailure) in try reader.string(field) }
    }

    /// Reads a count (16 bits) and that many values.
    ///
    /// - Parameter smallest: The smallest encoding of one value, in bytes. A count that exceeds the remaining bytes is
    ///   rejected before any memory is allocated for it.
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

    /// Reads a flag, and the value that follows it if the flag is 1. Returns nil if the flag is 0.
    mutating func optional<Value>(
        _ field: StaticString, _ read: (inout FieldReader) throws(ProviderFailure) -> Value
    ) throws(ProviderFailure) -> Value? {
        try flag(field) ? try read(&self) : nil
    }

    /// Reads a number of bytes (64 bits, unsigned). Rejects a number that does not fit `Int`.
    mutating func size(_ field: StaticString) throws(ProviderFailure) -> Int {
        guard let value = Int(exactly: try integer(field, as: UInt64.self)) else {
            throw ProviderFailure(.malformed, "\(field) is too large")
        }
        return value
    }

    /// Reads milliseconds since 1970 (64 bits, signed).
    mutating func date(_ field: StaticString) throws(ProviderFailure) -> Date {
        Date(timeIntervalSince1970: Double(try integer(field, as: Int64.self)) / 1_000)
    }

    /// Reads the optional cursor of a page. It is nil for the first page and after the last one.
    mutating func cursor() throws(ProviderFailure) -> String? {
        try optional("the cursor") { (reader) throws(ProviderFailure) in try reader.string("the cursor") }
    }

    /// Reads `count` bytes. Returns nil if fewer remain.
    mutating func octets(_ count: Int) -> [UInt8]? {
        body.readBytes(length: count)
    }

    /// Reads all remaining bytes.
    mutating func rest() -> ByteBuffer {
        let rest = body
        body.moveReaderIndex(to: body.writerIndex)
        return rest
    }

    /// Checks that every byte was read.
    ///
    /// - Throws: `malformed` if bytes remain.
    func end() throws(ProviderFailure) {
        guard remaining == 0 else {
            throw ProviderFailure(.malformed, "\(remaining) bytes follow the last field")
        }
    }

    private static func ends(in field: StaticString) -> ProviderFailure {
        ProviderFailure(.malformed, "the message ends inside \(field)")
    }
}
