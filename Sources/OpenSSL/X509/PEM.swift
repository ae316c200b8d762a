internal import COpenSSL

/// PEM (RFC 7468): DER in base64 between two lines with a label.
package enum PEM {
    /// One block: the data between a BEGIN line and its END line.
    package struct Block: Sendable, Hashable {
        /// The label in the BEGIN line, such as `CERTIFICATE`.
        package let label: String
        /// The decoded contents, which should be DER but are not checked.
        package let der: [UInt8]
    }

    /// The blocks that have one of the given labels, in order. Text around blocks is skipped.
    ///
    /// Other blocks may contain private keys. They are also decoded, but their contents are wiped immediately.
    ///
    /// - Throws: `malformed` if any block is damaged, regardless of its label.
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

    /// One block with the given label and contents, which ends in a line feed.
    package static func text(_ label: String, _ der: [UInt8]) -> String {
        let output = unsafe BIO_new(BIO_s_mem())
        defer { unsafe BIO_free(output) }
        unsafe PEM_write_bio(output, label, "", der, der.count)
        var start: UnsafeMutableRawPointer?
        let count = unsafe BIO_ctrl(output, BIO_CTRL_INFO, 0, &start)
        return unsafe String(
            decoding: UnsafeRawBufferPointer(start: start, count: max(0, count)), as: UTF8.self)
    }

    /// Reads the next block.
    ///
    /// - Returns: Nil at the end of the text; a tuple without a block if the block has another label.
    /// - Throws: `malformed` if the block is damaged.
    private static func next(
        _ input: OpaquePointer?, _ labels: Set<String>
    ) throws(CertificateError) -> (wanted: Block?, Void)? {
        var name: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var data: UnsafeMutablePointer<UInt8>?
        var count = 0
        // An entry that an earlier call left in this thread's queue must not be mistaken for the reason.
        OpenSSLError.discardQueue()
        guard unsafe PEM_read_bio(input, &name, &header, &data, &count) == 1 else {
            // PEM_read_bio fails both at the end of the text and in a damaged block. Only the reason, which is the
            // lower 23 bits of the code, distinguishes them.
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
