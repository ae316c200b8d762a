internal import COpenSSL

/// PEM (RFC 7468): DER as text between two lines that name it.
package enum PEM {
    /// One block of a text.
    package struct Block: Sendable, Hashable {
        /// What the block calls itself, such as `CERTIFICATE`.
        package let label: String
        /// What it holds.
        package let der: [UInt8]
    }

    /// The blocks of a text whose label is one of `labels`, in order; text round them is skipped.
    ///
    /// The contents of other blocks, private keys perhaps, are wiped and not returned.
    ///
    /// - Throws: `malformed` where a block of any label is damaged.
    package static func blocks(_ text: [UInt8], labelled labels: Set<String>) throws(CertificateError)
        -> [Block]
    {
        unsafe try text.withUnsafeBufferPointer {
            (bytes: UnsafeBufferPointer<UInt8>) throws(CertificateError) -> [Block] in
            var blocks: [Block] = []
            let input = unsafe BIO_new_mem_buf(bytes.baseAddress, CInt(clamping: bytes.count))
            defer { unsafe BIO_free(input) }
            while let block = unsafe try next(input, labels) {
                if let wanted = block.wanted { blocks.append(wanted) }
            }
            return blocks
        }
    }

    /// `der` as text, ending in a line feed.
    package static func text(_ label: String, _ der: [UInt8]) -> String {
        let output = unsafe BIO_new(BIO_s_mem())
        defer { unsafe BIO_free(output) }
        unsafe PEM_write_bio(output, label, "", der, der.count)
        var start: UnsafeMutableRawPointer?
        let count = unsafe BIO_ctrl(output, BIO_CTRL_INFO, 0, &start)
        return unsafe String(
            decoding: UnsafeRawBufferPointer(start: start, count: max(0, count)), as: UTF8.self)
    }

    private static func next(
        _ input: OpaquePointer?, _ labels: Set<String>
    ) throws(CertificateError) -> (wanted: Block?, Void)? {
        var name: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var data: UnsafeMutablePointer<UInt8>?
        var count = 0
        // What somebody else left on this thread's queue must not be taken for the reason.
        OpenSSLError.discardQueue()
        guard unsafe PEM_read_bio(input, &name, &header, &data, &count) == 1 else {
            // The end of the text and a damaged block both end the reading; only the reason tells them apart.
            let cause = OpenSSLError.draining("reading PEM")
            if cause.queue.allSatisfy({ $0.code & 0x7FFFFF == UInt(PEM_R_NO_START_LINE) }) { return nil }
            throw CertificateError(.malformed, "a PEM block is damaged", cause: cause)
        }
        defer {
            unsafe CRYPTO_free(name, #file, #line)
            unsafe CRYPTO_free(header, #file, #line)
            unsafe CRYPTO_clear_free(data, count, #file, #line)
        }
        let label = unsafe name.map { unsafe String(cString: $0) } ?? ""
        guard labels.contains(label) else { return (nil, ()) }
        return unsafe (Block(label: label, der: Array(UnsafeBufferPointer(start: data, count: count))), ())
    }
}
