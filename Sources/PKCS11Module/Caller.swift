internal import CPKCS11

/// Access to the caller's memory. The caller may pass any pointer and length. Input is copied at the start of a call,
/// results are written at its end, and no pointer is kept.
enum Caller {
    /// The maximum length of data in bytes, so that a length of ~0 is rejected before any byte is read.
    private static let mostBytes: CK_ULONG = 1 << 40
    /// The maximum number of attributes in a template.
    private static let mostAttributes: CK_ULONG = 4_096
    /// The maximum length of an attribute value, in bytes.
    static let longestValue: CK_ULONG = 65_536

    /// Checks the pointer and the length of the caller's data.
    ///
    /// - Throws: CKR_ARGUMENTS_BAD.
    static func data(_ pointer: CK_BYTE_PTR?, _ count: CK_ULONG) throws(Refusal) -> UnsafeBufferPointer<UInt8>
    {
        guard count > 0 else { return unsafe UnsafeBufferPointer(start: nil, count: 0) }
        guard let pointer = unsafe pointer, count <= mostBytes else {
            throw Refusal(CKR_ARGUMENTS_BAD, "data")
        }
        return unsafe UnsafeBufferPointer(start: pointer, count: Int(count))
    }

    /// Checks that the pointer through which a result is written is not NULL.
    ///
    /// - Throws: CKR_ARGUMENTS_BAD.
    static func place<Value>(
        _ pointer: UnsafeMutablePointer<Value>?
    ) throws(Refusal) -> UnsafeMutablePointer<Value> {
        guard let pointer = unsafe pointer else {
            throw Refusal(CKR_ARGUMENTS_BAD, "the pointer to the result is NULL")
        }
        return unsafe pointer
    }

    /// Checks the pointer and the attribute count of a template.
    ///
    /// - Throws: CKR_ARGUMENTS_BAD.
    static func template(
        _ pointer: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG
    ) throws(Refusal) -> UnsafeMutableBufferPointer<CK_ATTRIBUTE> {
        guard count > 0 else { return unsafe UnsafeMutableBufferPointer(start: nil, count: 0) }
        guard let pointer = unsafe pointer, count <= mostAttributes else {
            throw Refusal(CKR_ARGUMENTS_BAD, "the template is NULL or too long")
        }
        return unsafe UnsafeMutableBufferPointer(start: pointer, count: Int(count))
    }

    /// Copies the attributes of a template.
    ///
    /// - Throws: CKR_ARGUMENTS_BAD; CKR_ATTRIBUTE_VALUE_INVALID for a value without a pointer or of more than
    ///   `longestValue` bytes.
    static func attributes(
        _ pointer: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG
    ) throws(Refusal) -> [(type: CK_ATTRIBUTE_TYPE, value: [UInt8])] {
        var attributes: [(CK_ATTRIBUTE_TYPE, [UInt8])] = []
        let template = unsafe try template(pointer, count)
        for index in template.indices {
            let attribute = unsafe template[index]
            let length = unsafe attribute.ulValueLen
            guard length <= longestValue, unsafe length == 0 || attribute.pValue != nil else {
                throw Refusal(
                    CKR_ATTRIBUTE_VALUE_INVALID, "an attribute value is NULL or too long (\(length) bytes)")
            }
            let value = unsafe UnsafeRawBufferPointer(start: attribute.pValue, count: Int(length))
            unsafe attributes.append((attribute.type, Array(value)))
        }
        return attributes
    }

    /// Writes the length of a result for the caller, and checks whether the caller's buffer can receive the result.
    ///
    /// - Returns: True if the result must be written now; false if the caller passed no buffer and only needs the
    ///   length.
    /// - Throws: CKR_BUFFER_TOO_SMALL.
    static func takes(
        _ needed: Int, _ output: CK_BYTE_PTR?, _ length: UnsafeMutablePointer<CK_ULONG>
    ) throws(Refusal) -> Bool {
        let capacity = unsafe length.pointee
        guard unsafe output != nil else {
            unsafe length.pointee = CK_ULONG(needed)
            return false
        }
        guard capacity >= CK_ULONG(needed) else {
            unsafe length.pointee = CK_ULONG(needed)
            throw Refusal(
                CKR_BUFFER_TOO_SMALL, "\(needed) bytes are required, but the buffer has \(capacity)")
        }
        return true
    }

    /// Writes `text`, padded with spaces, into a field of a structure.
    static func pad<Field>(_ text: String, into field: inout Field) {
        unsafe withUnsafeMutableBytes(of: &field) { bytes in
            for place in bytes.indices { unsafe bytes[place] = 0x20 }
            unsafe bytes.copyBytes(from: cut(text, bytes.count))
        }
    }

    /// Shortens a label to at most `count` bytes by replacing its middle with two dots. Both ends are kept, because a
    /// label begins with the type and ends with the holder's number and the serial number.
    static func shortened(_ text: String, _ count: Int) -> String {
        guard text.utf8.count > count else { return text }
        let tail = 19
        var end = text.unicodeScalars.endIndex
        var size = 0
        while end > text.unicodeScalars.startIndex {
            let before = text.unicodeScalars.index(before: end)
            size += String(text.unicodeScalars[before]).utf8.count
            guard size <= tail else { break }
            end = before
        }
        return String(decoding: cut(text, count - tail - 2), as: UTF8.self) + ".." + text[end...]
    }

    /// The UTF-8 of `text`, truncated before the first character that does not fit.
    static func cut(_ text: String, _ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            let next = Array(String(scalar).utf8)
            guard bytes.count + next.count <= count else { break }
            bytes += next
        }
        return bytes
    }
}
