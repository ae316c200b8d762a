package import ZipBundles
package import Foundation

/// An archive that is made wrong on purpose: written by libzip, then changed in its headers (PKWARE APPNOTE section
/// 4.3). For tests and test material: an offset past the archive's end stops the process.
package struct MalformedArchive: Sendable {
    /// The bytes of the archive.
    package var bytes: [UInt8]

    /// An archive that was written already.
    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Writes an archive of any entries; names go to libzip as they are, however bad.
    ///
    /// - Throws: `ZipError`: `.creationFailed` where libzip refuses.
    package init(
        _ entries: [(name: String, bytes: [UInt8])], modified: Date, isCompressed: Bool = false
    ) throws(ZipError) {
        bytes = try ZipBundle.createUnchecked(entries, modified: modified, isCompressed: isCompressed)
    }

    /// The first bytes of an entry's local header.
    package static let localSignature: [UInt8] = [0x50, 0x4B, 3, 4]
    /// The first bytes of an entry's record in the central directory.
    package static let centralSignature: [UInt8] = [0x50, 0x4B, 1, 2]
    /// The first bytes of the record at the archive's end.
    package static let endSignature: [UInt8] = [0x50, 0x4B, 5, 6]

    /// The offsets at which `pattern` occurs, in bytes.
    package func offsets(of pattern: [UInt8]) -> [Int] {
        guard bytes.count >= pattern.count else { return [] }
        return (0...bytes.count - pattern.count).filter { bytes[$0...].starts(with: pattern) }
    }

    /// Replaces every occurrence of `pattern` by as many other bytes.
    package mutating func replace(_ pattern: [UInt8], by other: [UInt8]) {
        precondition(pattern.count == other.count)
        for offset in offsets(of: pattern) {
            bytes.replaceSubrange(offset..<offset + other.count, with: other)
        }
    }

    /// Replaces a name in all headers by another one of the same length.
    package mutating func rename(_ name: String, _ other: String) {
        replace(Array(name.utf8), by: Array(other.utf8))
    }

    /// Writes a number into the headers of every entry.
    ///
    /// - Parameters:
    ///   - local: the offset in the local header; nil leaves local headers alone.
    ///   - central: the offset in the record of the central directory.
    ///   - value: the number.
    ///   - size: how many bytes the number has.
    package mutating func patch(local: Int? = nil, central: Int, _ value: UInt32, size: Int = 4) {
        for (signature, field) in [(Self.localSignature, local), (Self.centralSignature, central)] {
            guard let field else { continue }
            for offset in offsets(of: signature) { put(value, at: offset + field, size: size) }
        }
    }

    /// Writes a number of `size` bytes, the lowest byte first.
    package mutating func put(_ value: UInt32, at offset: Int, size: Int = 4) {
        for byte in 0..<size {
            bytes[offset + byte] = UInt8(truncatingIfNeeded: value >> (8 * byte))
        }
    }

    /// Adds records to the central directory for the entries of `inner`, an archive that lies uncompressed in an entry
    /// of this one, so that entries overlap.
    ///
    /// - Throws: `ZipError`: `.creationFailed` where no entry holds `inner`.
    package mutating func listEntries(of inner: MalformedArchive) throws(ZipError) {
        guard let innerCentral = inner.offsets(of: Self.centralSignature).first,
            let innerEnd = inner.offsets(of: Self.endSignature).last,
            let start = bytes.firstRange(of: inner.bytes[..<innerCentral])?.lowerBound,
            let end = offsets(of: Self.endSignature).last
        else { throw ZipError(.creationFailed, "no entry holds the other archive's") }
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
