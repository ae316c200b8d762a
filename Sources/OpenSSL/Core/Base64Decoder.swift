internal import COpenSSL

/// Decodes Base64 (RFC 4648, 4) incrementally and ignores line breaks and spaces.
@safe package final class Base64Decoder {
    private let context = unsafe EVP_ENCODE_CTX_new()
    /// Whether the padding has begun, after which no further text is allowed.
    private var isPadded = false

    /// Creates a decoder for one Base64 text, which `decode(_:)` receives in parts.
    package init() { unsafe EVP_DecodeInit(context) }

    deinit { unsafe EVP_ENCODE_CTX_free(context) }

    /// Decodes the next part of the text. An incomplete group of four characters is kept and decoded
    /// with the next part.
    ///
    /// - Returns: The decoded bytes; nil if the text is not Base64.
    package func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        // OpenSSL ignores everything after a hyphen, and decodes text after the padding as a new text. Both are errors
        // here.
        guard !text.contains(UInt8(ascii: "-")) else { return nil }
        if isPadded { guard text.allSatisfy({ "=\r\n\t ".utf8.contains($0) }) else { return nil } }
        if text.contains(UInt8(ascii: "=")) { isPadded = true }
        var isText = true
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: text.count + 80) { output, initialized in
            unsafe text.withUnsafeBufferPointer { input in
                var count: CInt = 0
                isText =
                    unsafe EVP_DecodeUpdate(
                        context, output.baseAddress, &count, input.baseAddress, CInt(input.count)) >= 0
                initialized = isText ? Int(count) : 0
            }
        }
        return isText ? bytes : nil
    }

    /// Checks that the text is complete. Call it once, after the last part.
    ///
    /// - Returns: False if the last group of four characters is incomplete.
    package func finish() -> Bool {
        var count: CInt = 0
        var rest = [UInt8](repeating: 0, count: 80)
        return unsafe EVP_DecodeFinal(context, &rest, &count) == 1
    }
}
