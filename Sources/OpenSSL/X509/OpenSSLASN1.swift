internal import COpenSSL
internal import Foundation
internal import StandardExtensions

/// Conversions between OpenSSL's ASN.1 objects (`ASN1_STRING`, `ASN1_TIME`, …) and Swift values.
///
/// A function that reads an object does not take ownership of it. The caller owns a returned object and frees it with
/// the C function of its type.
enum OpenSSLASN1 {
    /// The contents octets of a string, an integer or a bit string; empty for nil. For an integer, they are its
    /// magnitude.
    static func octets(_ string: UnsafePointer<ASN1_STRING>?) -> [UInt8] {
        guard let string = unsafe string, let data = unsafe ASN1_STRING_get0_data(string) else { return [] }
        let count = unsafe Int(ASN1_STRING_length(string))
        return unsafe Array(UnsafeBufferPointer(start: data, count: max(0, count)))
    }

    /// The text of a character string; for any other type, `#` and the octets in hexadecimal.
    ///
    /// Octets that are not valid in the string's encoding become U+FFFD, so that a damaged name can be shown. A string
    /// with more than ``DistinguishedName/largestTextLength`` characters is truncated before the conversion and ends in
    /// an ellipsis.
    static func text(_ string: UnsafePointer<ASN1_STRING>?) -> String {
        guard let string = unsafe string else { return "" }
        switch unsafe ASN1_STRING_type(string) {
        case V_ASN1_UTF8STRING, V_ASN1_PRINTABLESTRING, V_ASN1_IA5STRING, V_ASN1_NUMERICSTRING,
            V_ASN1_VISIBLESTRING:
            guard let data = unsafe ASN1_STRING_get0_data(string) else { return "" }
            let count = unsafe Int(ASN1_STRING_length(string))
            return unsafe cut(UnsafeBufferPointer(start: data, count: max(0, count)))
        case V_ASN1_BMPSTRING, V_ASN1_UNIVERSALSTRING, V_ASN1_T61STRING:
            var converted: UnsafeMutablePointer<UInt8>?
            let count = unsafe ASN1_STRING_to_UTF8(&converted, string)
            guard count >= 0, let start = unsafe converted else { break }
            defer { unsafe CRYPTO_free(start, #file, #line) }
            return unsafe cut(UnsafeBufferPointer(start: start, count: Int(count)))
        default:
            break
        }
        OpenSSLError.discardQueue()
        return unsafe "#" + octets(string).upperHex
    }

    /// The text of UTF-8 octets, truncated to the maximum length that is shown.
    private static func cut(_ octets: UnsafeBufferPointer<UInt8>) -> String {
        let length = DistinguishedName.largestTextLength
        // A character has at most four octets. One additional character shows that the text is longer.
        let text = unsafe String(decoding: octets.prefix(4 * (length + 1)), as: UTF8.self)
        let scalars = text.unicodeScalars
        guard let end = scalars.index(scalars.startIndex, offsetBy: length, limitedBy: scalars.endIndex),
            end < scalars.endIndex
        else { return text }
        return String(scalars[..<end]) + "\u{2026}"
    }

    /// The date of a UTCTime or GeneralizedTime; nil if OpenSSL cannot read it (ASN1_TIME_to_tm(3)).
    static func date(_ time: UnsafePointer<ASN1_TIME>?) -> Date? {
        var fields = unsafe tm()
        guard let time = unsafe time, unsafe ASN1_TIME_to_tm(time, &fields) == 1 else {
            OpenSSLError.discardQueue()
            return nil
        }
        return unsafe Date(timeIntervalSince1970: TimeInterval(timegm(&fields)))
    }

    /// A UTCTime for the years 1950 to 2049, and a GeneralizedTime otherwise (RFC 5280, 4.1.2.5), in whole seconds.
    ///
    /// - Throws: `unencodable` for a year before 0 or after 9999.
    static func time(_ date: Date) throws(CertificateError) -> UnsafeMutablePointer<ASN1_TIME> {
        guard let seconds = Int(exactly: date.timeIntervalSince1970.rounded(.down)),
            writableSeconds.contains(seconds),
            let time = unsafe ASN1_TIME_set(nil, seconds)
        else { throw .draining(.unencodable, "writing a time outside the years 0 to 9999") }
        return unsafe time
    }

    /// The years 0 to 9999 in seconds since 1970. OpenSSL would write later years with five digits, which is invalid in
    /// DER.
    private static let writableSeconds = -62_167_219_200...253_402_300_799

    /// The dotted notation of an object identifier; `#` and its octets if the notation has more than 511 characters.
    static func dotted(_ object: OpaquePointer?) -> String {
        guard let object = unsafe object else { return "" }
        // Rec. ITU-T X.660 sets no limit, but no identifier in use approaches this one.
        let capacity = 512
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer -> String in
            let count = unsafe OBJ_obj2txt(buffer.baseAddress, CInt(capacity), object, 1)
            if count > 0, count < capacity, let start = buffer.baseAddress {
                return unsafe String(cString: start)
            }
            OpenSSLError.discardQueue()
            let octets = unsafe UnsafeBufferPointer(start: OBJ_get0_data(object), count: OBJ_length(object))
            return unsafe "#" + octets.upperHex
        }
    }

    /// An object identifier from its dotted notation, or from one of OpenSSL's names for it.
    ///
    /// - Throws: `unencodable` for any other text.
    static func object(_ text: String) throws(CertificateError) -> OpaquePointer {
        // OpenSSL converts the empty text to an object without octets, which cannot be decoded again.
        guard !text.isEmpty, let object = unsafe OBJ_txt2obj(text, 0) else {
            throw .draining(.unencodable, "writing the object identifier '\(text)'")
        }
        return unsafe object
    }

    /// An integer from a big-endian magnitude and a sign; an empty magnitude is zero.
    ///
    /// - Throws: `unencodable` if OpenSSL has no memory for it.
    static func integer(
        _ magnitude: [UInt8], isNegative: Bool = false
    ) throws(CertificateError) -> UnsafeMutablePointer<ASN1_INTEGER> {
        let number = unsafe BN_bin2bn(magnitude, CInt(magnitude.count), nil)
        defer { unsafe BN_free(number) }
        unsafe BN_set_negative(number, isNegative ? 1 : 0)
        guard let integer = unsafe BN_to_ASN1_INTEGER(number, nil) else {
            throw .draining(.unencodable, "writing an integer")
        }
        return unsafe integer
    }

    /// A string with the contents `octets`, which are not checked against the type.
    ///
    /// - Parameter type: The number of a universal type, such as `V_ASN1_OCTET_STRING`.
    /// - Throws: `unencodable` if OpenSSL has no memory for it.
    static func string(
        _ type: CInt, _ octets: some Collection<UInt8>
    ) throws(CertificateError) -> UnsafeMutablePointer<ASN1_STRING> {
        let octets = Array(octets)
        guard let string = unsafe ASN1_STRING_type_new(type),
            unsafe ASN1_STRING_set(string, octets, CInt(octets.count)) == 1
        else { throw .draining(.unencodable, "writing a string") }
        return unsafe string
    }

    /// The DER of an OpenSSL object; empty if it cannot be written.
    ///
    /// - Parameter encode: The `i2d` function of the object's type.
    static func der<Object>(
        _ object: Object, _ encode: (Object, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt
    ) -> [UInt8] {
        let count = encode(object, nil)
        guard count > 0 else {
            OpenSSLError.discardQueue()
            return []
        }
        return unsafe [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, initialized in
            var cursor = buffer.baseAddress
            initialized = unsafe max(0, Int(encode(object, &cursor)))
        }
    }

    /// Decodes one object that must fill all of `der`.
    ///
    /// - Parameters:
    ///   - kind: The name of the structure with its article, for the error.
    ///   - decode: The `d2i` function of the object's type.
    ///   - free: The C function that frees the object if data follows it.
    /// - Throws: `malformed` with OpenSSL's reasons if `der` cannot be decoded, `trailingBytes` if data follows.
    static func decode<Object>(
        _ der: [UInt8], as kind: String,
        _ decode: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> Object?,
        free: (Object) -> Void
    ) throws(CertificateError) -> Object {
        let (object, rest) = unsafe der.withUnsafeBufferPointer { bytes -> (Object?, Int) in
            guard let start = bytes.baseAddress else { return (nil, 0) }
            var cursor: UnsafePointer<UInt8>? = unsafe start
            let object = unsafe decode(&cursor, bytes.count)
            return unsafe (object, bytes.count - (cursor.map { unsafe $0 - start } ?? 0))
        }
        guard let object else { throw .draining(.malformed, "decoding \(kind)") }
        guard rest == 0 else {
            free(object)
            throw CertificateError(.trailingBytes, "\(rest) bytes follow \(kind)")
        }
        return object
    }

    /// Runs the `d2i` function of an ASN.1 item without loading any key (``LibraryContext/withoutProviders``).
    ///
    /// - Returns: An object that the caller owns and that has no provider; nil if decoding fails.
    static func decodeWithoutProviders(
        _ item: OpaquePointer?, _ input: UnsafeMutablePointer<UnsafePointer<UInt8>?>, _ count: Int
    ) -> OpaquePointer? {
        unsafe ASN1_item_d2i_ex(nil, input, count, item, LibraryContext.withoutProviders.pointer, nil)
    }

    /// The elements of an OpenSSL stack (`STACK_OF`), which still owns them; empty for nil.
    static func elements(_ stack: OpaquePointer?) -> [UnsafeMutableRawPointer] {
        guard let stack = unsafe stack else { return unsafe [] }
        return unsafe (0..<OPENSSL_sk_num(stack)).compactMap { unsafe OPENSSL_sk_value(stack, $0) }
    }
}
