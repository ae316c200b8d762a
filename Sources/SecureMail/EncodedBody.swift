internal import OpenSSL
internal import PrivateFiles

/// The body of a mail in CMS, decoded from how it was written for transport (RFC 2045, 6).
struct EncodedBody: ByteSource {
    private var reader: LineReader
    private let decoder: Base64Decoder?
    private let end: [UInt8]?
    private var isAtEnd = false

    /// A body.
    ///
    /// - Parameters:
    ///   - reader: Stands at the first byte of the body.
    ///   - isBase64: Whether the body is in Base64; otherwise it is as it is.
    ///   - end: The start of the line that ends the body; nil for the end of the file.
    init(_ reader: LineReader, isBase64: Bool, until end: String? = nil) {
        self.reader = reader
        decoder = isBase64 ? Base64Decoder() : nil
        self.end = end.map { Array($0.utf8) }
    }

    mutating func next() throws -> ArraySlice<UInt8> {
        while !isAtEnd {
            let text: ArraySlice<UInt8>
            if let end {
                text = try reader.next() ?? []
                if text.starts(with: end) {
                    isAtEnd = true
                    break
                }
            } else {
                text = try reader.rest()
            }
            guard !text.isEmpty else {
                isAtEnd = true
                break
            }
            guard let decoder else { return text }
            guard let bytes = decoder.decode(text) else { throw Self.damaged }
            if !bytes.isEmpty { return bytes[...] }
        }
        guard let decoder else { return [] }
        guard decoder.finish() else { throw Self.damaged }
        return []
    }

    private static let damaged = CMSError(.malformed, "the body of the mail is no Base64")
}

/// Brings lines to the form that is signed: CR LF at the end of each (RFC 8551, 3.1.1).
struct CanonicalLines {
    private var endsInReturn = false

    /// The next bytes with CR LF at the ends of lines.
    mutating func canonical(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let last = bytes.last else { return bytes }
        defer { endsInReturn = last == 0x0D }
        // Lines come one by one, and most end in CR LF already.
        guard last == 0x0A, bytes.dropLast().firstIndex(of: 0x0A) == nil else { return all(bytes) }
        let hasReturn = bytes.count > 1 ? bytes.dropLast().last == 0x0D : endsInReturn
        return hasReturn ? bytes : bytes.dropLast() + [0x0D, 0x0A]
    }

    private func all(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard bytes.contains(0x0A) else { return bytes }
        var canonical: [UInt8] = []
        canonical.reserveCapacity(bytes.count + bytes.count / 32)
        var before: UInt8 = endsInReturn ? 0x0D : 0
        for byte in bytes {
            if byte == 0x0A, before != 0x0D { canonical.append(0x0D) }
            canonical.append(byte)
            before = byte
        }
        return canonical[...]
    }
}
