package import ZipBundles
package import Foundation

/// A deliberately malformed archive: libzip writes a valid archive, and then its headers are changed (PKWARE APPNOTE,
/// section 4.3). Use it only for tests and test material, because an offset past the end of the archive crashes the
/// process.
package struct MalformedArchive: Sendable {
    /// The bytes of the archive.
    package var bytes: [UInt8]

    /// Wraps the bytes of an existing archive.
    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Writes an archive of any entries. Names are passed to libzip unchecked.
    ///
    /// - Throws: `ZipError`: `.creationFailed` if libzip rejects them.
    package init(
        _ entries: [(name: String, bytes: [UInt8])], modified: Date, isCompressed: Bool = false
    ) throws(ZipError) {
        bytes = try ZipBundle.createUnchecked(entries, modified: modified, isCompressed: isCompressed)
    }

    /// The first bytes of an entry's local header.
    package static let localSignature: [UInt8] = [0x50, 0x4B, 3, 4]
    /// The first bytes of an entry's record in the central directory.
    package static let centralSignature: [UInt8] = [0x50, 0x4B, 1, 2]
    /// The first bytes of the record at the end of the archive.
    package static let endSignature: [UInt8] = [0x50, 0x4B, 5, 6]

    /// Returns the byte offsets at which `pattern` occurs.
    package func offsets(of pattern: [UInt8]) -> [Int] {
        guard bytes.count >= pattern.count else { return [] }
        return (0...bytes.count - pattern.count).filter { bytes[$0...].starts(with: pattern) }
    }

    /// Replaces every occurrence of `pattern` with other bytes of the same length.
    package mutating func replace(_ pattern: [UInt8], by other: [UInt8]) {
        precondition(pattern.count == other.count)
        for offset in offsets(of: pattern) {
            bytes.replaceSubrange(offset..<offset + other.count, with: other)
        }
    }

    /// Replaces a name in all headers with another name of the same length.
    package mutating func rename(_ name: String, _ other: String) {
        replace(Array(name.utf8), by: Array(other.utf8))
    }

    /// Writes a number into the headers of every entry.
    ///
    /// - Parameters:
    ///   - local: The offset in the local header, or nil to leave local headers unchanged.
    ///   - central: The offset in the record of the central directory.
    ///   - value: The number.
    ///   - size: The size of the number, in bytes.
    package mutating func patch(local: Int? = nil, central: Int, _ value: UInt32, size: Int = 4) {
        for (signature, field) in [(Self.localSignature, local), (Self.centralSignature, central)] {
            guard let field else { continue }
            for offset in offsets(of: signature) { put(value, at: offset + field, size: size) }
        }
    }

    /// Writes a number of `size` bytes in little-endian order.
    package mutating func put(_ value: UInt32, at offset: Int, size: Int = 4) {
        for byte in 0..<size {
            bytes[offset + byte] = UInt8(truncatingIfNeeded: value >> (8 * byte))
        }
    }

    /// Adds records to the central directory for the entries of `inner`, an archive that is stored uncompressed in an
    /// entry of this archive, so that entries overlap.
    ///
    /// - Throws: `ZipError`: `.creationFailed` if no entry contains `inner`.
    package mutating func listEntries(of inner: MalformedArchive) throws(ZipError) {
        guard let innerCentral = inner.offsets(of: Self.centralSignature).first,
            let innerEnd = inner.offsets(of: Self.endSignature).last,
            let start = bytes.firstRange(of: inner.bytes[..<innerCentral])?.lowerBound,
            let end = offsets(of: Self.endSignature).last
        else { throw ZipError(.creationFailed, "no entry contains the other archive") }
        var records = MalformedArchive(bytes: Array(inner.bytes[innerCentral..<innerEnd]))
        let offsets = records.offsets(of: Self.centralSignature)
        for offset in offsets {
            records.put(records.number(at: offset + 42) + UInt32(start), at: offset + 42)
        }
        let count = number(at: end + 8, size: 2) + UInt32(offsets.count)
        let size = number(at: end + 12) + UInt32(records.bytes.count)
        bytes.insert(contentsOf: records.bytes, at: end)
        let newEnd = end + records.bytes.count
        put(count, at: newEnd + 8, size: 2)
        put(count, at: newEnd + 10, size: 2)
        put(size, at: newEnd + 12)
    }

    private func number(at offset: Int, size: Int = 4) -> UInt32 {
        bytes[offset..<offset + size].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
