internal import COpenSSL

/// The two forms of an ECDSA signature: DER (RFC 3279, 2.2.3) and the concatenation of its two numbers (RFC 4754, 7).
package enum ECDSASignature {
    /// Converts a DER signature to the concatenation of its two numbers, each padded to the length of the curve's
    /// order.
    ///
    /// - Parameters:
    ///   - der: The signature in DER.
    ///   - bits: The size of the key in bits.
    /// - Returns: The concatenation; nil if the bytes are not an ECDSA signature in DER, or if a number is too long.
    package static func concatenated(_ der: [UInt8], bits: Int) -> [UInt8]? {
        let size = (bits + 7) / 8
        let signature = unsafe der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var cursor = bytes.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &cursor, bytes.count)
        }
        defer { unsafe ECDSA_SIG_free(signature) }
        guard let signature = unsafe signature else {
            OpenSSLError.discardQueue()
            return nil
        }
        var numbers = [UInt8](repeating: 0, count: 2 * size)
        let isWritten = unsafe numbers.withUnsafeMutableBufferPointer { output -> Bool in
            guard let base = output.baseAddress else { return false }
            return unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), base, CInt(size)) == CInt(size)
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature), base + size, CInt(size)) == CInt(size)
        }
        OpenSSLError.discardQueue()
        return isWritten ? numbers : nil
    }

    /// Converts two concatenated numbers to a DER signature; nil if the number of bytes is odd.
    package static func der(_ concatenated: [UInt8]) -> [UInt8]? {
        guard concatenated.count.isMultiple(of: 2), !concatenated.isEmpty else { return nil }
        let half = concatenated.count / 2
        guard let signature = unsafe ECDSA_SIG_new() else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        return unsafe concatenated.withUnsafeBufferPointer { bytes -> [UInt8]? in
            guard let base = bytes.baseAddress else { return nil }
            let first = unsafe BN_bin2bn(base, CInt(half), nil)
            let second = unsafe BN_bin2bn(base + half, CInt(half), nil)
            // The signature now owns the numbers and frees them.
            guard unsafe ECDSA_SIG_set0(signature, first, second) == 1 else {
                unsafe BN_free(first)
                unsafe BN_free(second)
                return nil
            }
            return unsafe OpenSSLASN1.der(signature) { unsafe i2d_ECDSA_SIG($0, $1) }
        }
    }
}
