package import ZipBundles
package import Foundation

/// An archive to be made wrong on purpose: written by libzip, then changed where headers stand (PKWARE APPNOTE
/// 4.3). For tests and test material; offsets are not checked against the archive's end.
package struct MalformedArchive: Sendable {
    package var bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// An archive of any entries, whatever they hold; names are given to libzip as they are.
    ///
    /// - Throws: `ZipError.Code.creationFailed`.
    package init(
        _ entries: [(name: String, bytes: [UInt8])], modified: Date, isCompressed: Bool = false
    ) throws(ZipError) {
        bytes = try ZipBundle.createUnchecked(entries, modified: modified, isCompressed: isCompressed)
    }

    /// What an entry's local header starts with.
    package static let localSignature: [UInt8] = [0x50, 0x4B, 3, 4]
    /// What an entry's record in the central directory starts with.
    package static let centralSignature: [UInt8] = [0x50, 0x4B, 1, 2]
    /// What the record at the archive's end starts with.
    package static let endSignature: [UInt8] = [0x50, 0x4B, 5, 6]

    /// Where `pattern` stands.
    package func offsets(of pattern: [UInt8]) -> [Int] {
        guard bytes.count >= pattern.count else { return [] }
        return (0...bytes.count - pattern.count).filter { bytes[$0...].starts(with: pattern) }
    }

    /// Replaces every occurrence by as many other bytes.
    package mutating func replace(_ pattern: [UInt8], by other: [UInt8]) {
        precondition(pattern.count == other.count)
        for offset in offsets(of: pattern) {
            bytes.replaceSubrange(offset..<offset + other.count, with: other)
        }
    }

    /// Replaces a name in all headers by one that is as long.
    package mutating func rename(_ name: String, _ other: String) {
        replace(Array(name.utf8), by: Array(other.utf8))
    }

    /// Writes a number into the local and the central header of every entry; nil leaves a header as it is.
    package mutating func patch(local: Int? = nil, central: Int, _ value: UInt32, size: Int = 4) {
        for (signature, field) in [(Self.localSignature, local), (Self.centralSignature, central)] {
            guard let field else { continue }
            for offset in offsets(of: signature) { put(value, at: offset + field, size: size) }
        }
    }

    /// Writes a number of so many bytes, the lowest first.
    package mutating func put(_ value: UInt32, at offset: Int, size: Int = 4) {
        for byte in 0..<size {
            bytes[offset + byte] = UInt8(truncatingIfNeeded: value >> (8 * byte))
        }
    }

    /// Lists entries of another archive as this one's too, over the same bytes: those of an entry here that
    /// holds all of the other's local headers and data, uncompressed.
    ///
    /// - Throws: `ZipError.Code.creationFailed` where there is no such entry.
    package mutating func listEntries(of inner: MalformedArchive) throws(ZipError) {
        guard let innerCentral = inner.offsets(of: Self.centralSignature).first,
            let innerEnd = inner.offsets(of: Self.endSignature).last,
            let start = bytes.firstRange(of: inner.bytes[..<innerCentral])?.lowerBound,
            let end = offsets(of: Self.endSignature).last
        else { throw ZipError(.creationFailed, "no entry holds the other archive's") }
        var records = MalformedArchive(bytes: Array(inner.bytes[innerCentral..<innerEnd]))
        let places = records.offsets(of: Self.centralSignature)
        for place in places {
            records.put(records.number(at: place + 42) + UInt32(start), at: place + 42)
        }
        let count = number(at: end + 8, size: 2) + UInt32(places.count)
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
