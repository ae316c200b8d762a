internal import CPKCS11

/// What a caller passes: pointers and lengths that may be anything. Values are copied out of the caller's memory at once
/// and into it at the end; no pointer is kept.
enum Caller {
    /// More bytes than any caller has, so that a length of ~0 is refused before anything is read.
    private static let mostBytes: CK_ULONG = 1 << 40
    /// The most attributes of one template.
    private static let mostAttributes: CK_ULONG = 4_096
    /// The longest value of an attribute that is read.
    static let longestValue: CK_ULONG = 65_536

    /// Checks the pointer to the caller's data.
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

    /// Checks the pointer to a place for a result.
    ///
    /// - Throws: CKR_ARGUMENTS_BAD.
    static func place<Value>(
        _ pointer: UnsafeMutablePointer<Value>?
    ) throws(Refusal) -> UnsafeMutablePointer<Value> {
        guard let pointer = unsafe pointer else {
            throw Refusal(CKR_ARGUMENTS_BAD, "no place for the result")
        }
        return unsafe pointer
    }

    /// Checks a template.
    ///
    /// - Throws: CKR_ARGUMENTS_BAD.
    static func template(
        _ pointer: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG
    ) throws(Refusal) -> UnsafeMutableBufferPointer<CK_ATTRIBUTE> {
        guard count > 0 else { return unsafe UnsafeMutableBufferPointer(start: nil, count: 0) }
        guard let pointer = unsafe pointer, count <= mostAttributes else {
            throw Refusal(CKR_ARGUMENTS_BAD, "the template")
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
                throw Refusal(CKR_ATTRIBUTE_VALUE_INVALID, "an attribute of \(length) bytes")
            }
            let value = unsafe UnsafeRawBufferPointer(start: attribute.pValue, count: Int(length))
            unsafe attributes.append((attribute.type, Array(value)))
        }
        return attributes
    }

    /// Tells the caller a length; where there is no buffer that is all.
    ///
    /// - Returns: whether the result is to be written.
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
            throw Refusal(CKR_BUFFER_TOO_SMALL, "\(needed) bytes are needed, \(capacity) are there")
        }
        return true
    }

    /// Writes `text` into a field of a structure, with blanks behind it.
    static func pad<Field>(_ text: String, into field: inout Field) {
        unsafe withUnsafeMutableBytes(of: &field) { bytes in
            for place in bytes.indices { unsafe bytes[place] = 0x20 }
            unsafe bytes.copyBytes(from: cut(text, bytes.count))
        }
    }

    /// The UTF-8 of `text`, cut before the character that does not fit.
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
