internal import Foundation
internal import NIOCore

// The encodings that `FieldReader` reads.

extension ByteBuffer {
    /// Writes a count of bytes (16 bits) and the UTF-8 of `text`.
    ///
    /// - Throws: `refused` for a text of more than 65,535 bytes.
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

    /// Writes a count (16 bits) and each of `values` with `write`.
    ///
    /// - Throws: `refused` for more than 65,535 values, and what `write` throws.
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

    /// Writes a list of texts.
    ///
    /// - Throws: `refused` for more than 65,535 texts, and for a text of more than 65,535 bytes.
    mutating func writeField(_ texts: [String]) throws(ProviderFailure) {
        try writeList(texts) { (bytes, text) throws(ProviderFailure) in try bytes.writeField(text) }
    }

    /// Writes a byte of 0 or 1.
    mutating func writeFlag(_ flag: Bool) {
        writeInteger(UInt8(flag ? 1 : 0))
    }

    /// Writes a flag, and `value` with `write` where there is one.
    ///
    /// - Throws: What `write` throws.
    mutating func writeOptional<Value>(
        _ value: Value?, _ write: (inout ByteBuffer, Value) throws(ProviderFailure) -> Void
    ) throws(ProviderFailure) {
        writeFlag(value != nil)
        if let value {
            try write(&self, value)
        }
    }

    /// Writes milliseconds since 1970 (64 bits, signed); a time outside that range becomes the nearest one in it.
    mutating func writeField(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
        writeInteger(Int64(exactly: milliseconds) ?? (milliseconds < 0 ? Int64.min : Int64.max))
    }

    /// Writes an optional text that asks for the next page.
    ///
    /// - Throws: `refused` for a cursor of more than 65,535 bytes.
    mutating func writeCursor(_ cursor: String?) throws(ProviderFailure) {
        try writeOptional(cursor) { (bytes, text) throws(ProviderFailure) in try bytes.writeField(text) }
    }
}
