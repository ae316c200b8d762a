/// Reads the number of entries from an archive's end of central directory record (PKWARE APPNOTE 4.3.16).
///
/// The number is checked before libzip opens the archive, because libzip reads the headers of all entries when it opens
/// an archive, without a limit.
enum EndRecord {
    /// Returns the largest number of entries that any end record declares; nil if the archive has no end record.
    ///
    /// Bytes that resemble an end record may occur more than once. libzip compares them, and may read the entries of
    /// each.
    static func mostEntries(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64? {
        var most: UInt64?
        for start in unsafe places(bytes) {
            let stated = unsafe number(bytes, at: start + 10, octets: 2) ?? 0
            // libzip uses the Zip64 record whatever the end record contains.
            if let large = unsafe largeRecord(bytes, before: start),
                let count = unsafe number(bytes, at: large + 32, octets: 8)
            {
                // 0xFFFF means that the number is only in the Zip64 record.
                most = max(most ?? 0, count, stated == 0xFFFF ? 0 : stated)
            } else {
                most = max(most ?? 0, stated)
            }
        }
        return most
    }

    /// Whether the comment of an end record contains another end record.
    ///
    /// libzip can read the entries of the first one, while other programs read those of the last one. A record whose
    /// comment does not end with the archive is ignored, because the contents of an entry can look like one.
    static func isAmbiguous(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe places(bytes).dropFirst().contains { start in
            let comment = unsafe number(bytes, at: start + 20, octets: 2)
            return comment == UInt64(bytes.count - 22 - start)
        }
    }

    /// Whether the archive has exactly one end record.
    ///
    /// libzip without its consistency checks reads the entries of every end record, and may prefer those of another
    /// record than other programs.
    static func isOnlyOne(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe places(bytes).count == 1
    }

    /// Whether the Zip64 end record and the last end record lead to different entries.
    ///
    /// A field of the Zip64 record is valid only if the field of the end record has its maximum value (APPNOTE
    /// 4.4.1.4). Some programs, such as libzip, use the field in any case.
    static func isContradictory(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let end = unsafe places(bytes).first, let large = unsafe largeRecord(bytes, before: end) else {
            return false
        }
        // Python ignores the locator, and expects the record of 56 bytes directly before it.
        if large + 76 != end { return true }
        // The number of entries, and the size and the offset of the central directory.
        return [(10, 2, 32), (12, 4, 40), (16, 4, 48)].contains { field, octets, largeField in
            let stated = unsafe number(bytes, at: end + field, octets: octets)
            return unsafe stated != UInt64.max >> (64 - 8 * UInt64(octets))
                && stated != number(bytes, at: large + largeField, octets: 8)
        }
    }

    /// Returns the places of the bytes that look like an end record, from the last to the first.
    private static func places(_ bytes: UnsafeBufferPointer<UInt8>) -> [Int] {
        // The record starts at most 22 + 65,535 bytes before the end: its fixed part and the longest comment.
        stride(from: bytes.count - 22, through: max(0, bytes.count - 22 - 65_535), by: -1).filter {
            unsafe number(bytes, at: $0, octets: 4) == 0x0605_4B50
        }
    }

    /// Returns the place of the Zip64 end record (APPNOTE 4.3.14), to which a locator (4.3.15) before the end record
    /// points; nil if the archive has no Zip64 end record.
    private static func largeRecord(_ bytes: UnsafeBufferPointer<UInt8>, before end: Int) -> Int? {
        guard unsafe number(bytes, at: end - 20, octets: 4) == 0x0706_4B50,
            let offset = unsafe number(bytes, at: end - 12, octets: 8).flatMap(Int.init(exactly:)),
            unsafe number(bytes, at: offset, octets: 4) == 0x0606_4B50
        else { return nil }
        return offset
    }

    /// Returns the little-endian number at `start`; nil if it would extend beyond the archive.
    private static func number(
        _ bytes: UnsafeBufferPointer<UInt8>, at start: Int, octets: Int
    ) -> UInt64? {
        guard start >= 0, start <= bytes.count - octets else { return nil }
        return (0..<octets).reduce(0) { unsafe $0 | UInt64(bytes[start + $1]) << (8 * UInt64($1)) }
    }
}
