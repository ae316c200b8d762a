internal import Foundation
internal import KeyShareProtocol
internal import NIOCore

// The encodings that `FieldReader` reads.

extension ByteBuffer {
    /// Writes a count of bytes (16 bits) and the UTF-8 of `text`.
    ///
    /// - Throws: `refused` if the text has more than 65,535 bytes.
    mutating func writeField(_ text: String) throws(ProviderFailure) {
        var text = text
        let length = text.utf8.count
        guard let short = UInt16(exactly: length) else {
            throw ProviderFailure(.refused, "a string of \(length) bytes does not fit in its field")
        }
        text.makeContiguousUTF8()
        writeInteger(short)
        writeString(text)
    }

    /// Writes a count (16 bits) and each of `values` with `write`.
    ///
    /// - Throws: `refused` if there are more than 65,535 values, and the errors of `write`.
    mutating func writeList<Value>(
        _ values: [Value], _ write: (inout ByteBuffer, Value) throws(ProviderFailure) -> Void
    ) throws(ProviderFailure) {
        guard let count = UInt16(exactly: values.count) else {
            throw ProviderFailure(.refused, "\(values.count) values do not fit in one message")
        }
        writeInteger(count)
        for value in values {
            try write(&self, value)
        }
    }

    /// Writes a list of strings.
    ///
    /// - Throws: `refused` if there are more than 65,535 strings, or if a string has more than 65,535 bytes.
    mutating func writeField(_ texts: [String]) throws(ProviderFailure) {
        try writeList(texts) { (bytes, text) throws(ProviderFailure) in try bytes.writeField(text) }
    }

    /// Writes a byte of 0 or 1.
    mutating func writeFlag(_ flag: Bool) {
        writeInteger(UInt8(flag ? 1 : 0))
    }

    /// Writes a flag, followed by `value`, encoded with `write`, if it is not nil.
    ///
    /// - Throws: The errors of `write`.
    mutating func writeOptional<Value>(
        _ value: Value?, _ write: (inout ByteBuffer, Value) throws(ProviderFailure) -> Void
    ) throws(ProviderFailure) {
        writeFlag(value != nil)
        if let value {
            try write(&self, value)
        }
    }

    /// Writes milliseconds since 1970 (64 bits, signed). A time outside that range is clamped.
    mutating func writeField(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
        writeInteger(Int64(exactly: milliseconds) ?? (milliseconds < 0 ? Int64.min : Int64.max))
    }

    /// Writes an optional cursor for the next page.
    ///
    /// - Throws: `refused` if the cursor has more than 65,535 bytes.
    mutating func writeCursor(_ cursor: String?) throws(ProviderFailure) {
        try writeOptional(cursor) { (bytes, text) throws(ProviderFailure) in try bytes.writeField(text) }
    }
}
