extension LineReader {
    /// Whether one of the next lines is longer than programs read as one line. The next bytes to be returned remain the
    /// same.
    ///
    /// - Throws: `FileError`.
    func containsLongLine() throws -> Bool {
        try peek { reader in
            while let line = try reader.next() {
                if line.withoutLineEnd.count > HeaderLines.longest { return true }
            }
            return false
        }
    }

    /// Whether OpenSSL could find CMS in Base64 in the next lines. The next bytes to be returned remain the same.
    ///
    /// - Throws: `FileError`.
    func containsCMSInBase64() throws -> Bool { try peek(Self.findCMSInBase64) }

    private static func findCMSInBase64(_ reader: inout LineReader) throws -> Bool {
        // Bit n means that the last n digits could begin CMS at one of the previous lines.
        var beginnings: UInt32 = 0
        // The last digits, of six bits each.
        var digits: UInt128 = 0
        while true {
            let isLineStart = reader.isAtLineStart
            guard let line = try reader.next() else { return false }
            // Most lines neither begin CMS nor continue it. The reader returns a long line in pieces, and CMS begins only
            // at the start of a line.
            let canBegin = isLineStart && line.first { !isBlank($0) }.map(isFirstDigit) ?? false
            if beginnings == 0, !canBegin { continue }
            var found = beginnings | (isLineStart ? 1 : 0)
            var count = 0
            var isData = true
            var isFound = false
            for byte in line where !isBlank(byte) {
                guard let value = byte.base64Value ?? (byte == UInt8(ascii: "=") ? 0 : nil) else {
                    // A hyphen ends the data, as after the digits of “MIME-Version”.
                    isData = isData && byte == UInt8(ascii: "-") && count > 64
                    break
                }
                digits = digits &<< 6 | UInt128(value)
                found = found &<< 1 & (isFirstDigit(byte) ? (enough << 1) - 2 : (enough << 1) - 4)
                if found & enough != 0, beginsContentInfo(digits) { isFound = true }
                count += 1
                if found == 0, !isFound { break }
            }
            if isData, isFound { return true }
            if !isData || count > 0 { beginnings = isData ? found : 0 }
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    /// Whether a digit can begin CMS: the identifier of a SEQUENCE is 0x30 or, with a number of several octets, 0x3F.
    private static func isFirstDigit(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "M") || byte == UInt8(ascii: "P")
    }

    /// The bit of 16 digits, which are examined. All CMS is longer.
    private static let enough: UInt32 = 1 << 16

    /// Whether the last 16 digits can begin a ContentInfo (RFC 5652, 3) that OpenSSL reads: a SEQUENCE whose header has at
    /// most eight octets, and an OBJECT IDENTIFIER as its first element.
    private static func beginsContentInfo(_ digits: UInt128) -> Bool {
        let octet = { (index: Int) in UInt8(truncatingIfNeeded: digits &>> UInt128(88 - 8 * index)) }
        guard let outer = tag(at: 0, octet), outer.tag == 0x30, outer.end < 8 else { return false }
        let length = octet(outer.end)
        let start = outer.end + 1 + (length < 0x80 ? 0 : Int(length & 0x7F))
        guard start <= 8 else { return false }
        guard let element = tag(at: start, octet) else { return true }
        return element.tag == 0x06
    }

    /// Reads an identifier. OpenSSL accepts several octets for any tag number.
    ///
    /// - Returns: The identifier in its shortest form, 0xFF for a number above 30, and the position after it; nil if it
    ///   does not end within the 12 octets.
    private static func tag(at start: Int, _ octet: (Int) -> UInt8) -> (tag: UInt8, end: Int)? {
        let first = octet(start)
        guard first & 0x1F == 0x1F else { return (first, start + 1) }
        guard let last = (start + 1..<12).first(where: { octet($0) != 0x80 }) else { return nil }
        let number = octet(last)
        return (number < 0x1F ? first & 0xE0 | number : 0xFF, last + 1)
    }
}
