package import struct Foundation.Date

/// Reads and writes zip archives of PKCS #12 files, in memory.
///
/// Names in an archive are never used as paths, and nothing is written to disk.
package enum ZipBundle {
    /// Whether the bytes begin as an archive does: with an entry, or with the end record of an empty archive
    /// (PKWARE APPNOTE 4.3.7 and 4.3.16).
    package static func isArchive(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: [0x50, 0x4B, 0x03, 0x04]) || bytes.starts(with: [0x50, 0x4B, 0x05, 0x06])
    }

    /// Reads the files in `archive`, each with its bytes or the reason why it is refused.
    ///
    /// libzip trusts headers: an entry that states ten bytes can deliver fifty million, and entries that share their bytes
    /// pass its consistency check. So sizes are counted on the bytes that are read, and the sizes that all headers state
    /// must fit into the archive together (docs/rules.md R7.14).
    ///
    /// - Parameters:
    ///   - archive: The whole archive.
    ///   - limits: The bounds of sizes and counts.
    /// - Throws: `archiveTooLarge`, `notAnArchive`, `damagedArchive`, `tooManyEntries`, `unsafeName`, `duplicateName` and
    ///   `overlappingEntries`, which refuse the whole archive (docs/rules.md R7.16). The other errors concern one file and
    ///   are part of its entry.
    package static func read(
        _ archive: [UInt8], limits: ZipLimits = .standard
    ) throws(ZipError) -> ZipContents {
        guard archive.count <= limits.archiveSize else {
            throw ZipError(
                .archiveTooLarge(limit: limits.archiveSize),
                "the archive has \(archive.count) bytes, more than \(limits.archiveSize)")
        }
        guard !archive.isEmpty else { throw ZipError(.notAnArchive, "the archive is empty") }
        return unsafe try archive.withUnsafeBufferPointer { bytes throws(ZipError) in
            unsafe try ArchiveReader(bytes, limits: limits).contents()
        }
    }

    /// Makes an archive of `entries`, in their order, that `read` accepts.
    ///
    /// Equal entries and dates give equal bytes. Entries are stored without compression, which gains nothing on encrypted
    /// files. Without entries the archive is an end of central directory record alone, 22 bytes (docs/rules.md R3.18).
    ///
    /// - Parameters:
    ///   - entries: The names and bytes of the files.
    ///   - modified: The date of every entry, written in UTC to two seconds; before 1980 and after 2107 the nearest date.
    ///   - limits: The bounds of sizes and counts.
    /// - Throws: `unsafeName`, `duplicateName`, `tooManyEntries`, `entryTooLarge`, `contentsTooLarge` and `archiveTooLarge`
    ///   for what `read` would refuse, `creationFailed` when memory runs out.
    package static func create(
        _ entries: [(name: String, bytes: [UInt8])], modified: Date, limits: ZipLimits = .standard
    ) throws(ZipError) -> [UInt8] {
        guard !entries.isEmpty else { return emptyArchive }
        guard entries.count <= limits.entryCount else { throw .tooManyEntries(entries.count, limits: limits) }
        var names: Set<String> = []
        var contentsSize = 0
        for entry in entries {
            guard case .file = try EntryName(Array(entry.name.utf8), limits: limits) else {
                throw ZipError(
                    .unsafeName(entry.name, rule: .component), "“\(entry.name)” is not the name of a file")
            }
            guard names.insert(EntryName.folded(entry.name)).inserted else {
                throw .duplicateName(entry.name)
            }
            guard entry.bytes.count <= limits.entrySize else { throw .entryTooLarge(limits: limits) }
            contentsSize += entry.bytes.count
            guard contentsSize <= limits.contentsSize else { throw .contentsTooLarge(limits: limits) }
        }
        let archive = try createUnchecked(entries, modified: modified)
        guard archive.count <= limits.archiveSize else {
            throw ZipError(
                .archiveTooLarge(limit: limits.archiveSize),
                "the archive would have \(archive.count) bytes, more than \(limits.archiveSize)")
        }
        return archive
    }

    /// Makes an archive without judging names, sizes or contents, for test vectors that `read` must refuse. `create` is for
    /// archives that are handed out.
    ///
    /// - Parameters:
    ///   - entries: The names and bytes of the entries.
    ///   - modified: The date of every entry, written in UTC to two seconds.
    ///   - isCompressed: Whether libzip deflates the entries instead of storing them.
    /// - Throws: `creationFailed` when memory runs out or libzip refuses a name.
    package static func createUnchecked(
        _ entries: [(name: String, bytes: [UInt8])], modified: Date, isCompressed: Bool = false
    ) throws(ZipError) -> [UInt8] {
        var writer = try ArchiveWriter(modified: modified)
        for entry in entries { try writer.add(entry.name, entry.bytes, isCompressed: isCompressed) }
        return try writer.finish()
    }

    /// An archive without entries: an end of central directory record (APPNOTE 4.3.16). libzip cannot write one, because it
    /// deletes an archive that becomes empty.
    private static let emptyArchive: [UInt8] = [0x50, 0x4B, 0x05, 0x06] + [UInt8](repeating: 0, count: 18)
}

extension ZipError {
    /// The error for an archive with more entries than the limit.
    static func tooManyEntries(_ count: Int, limits: ZipLimits) -> ZipError {
        ZipError(
            .tooManyEntries(limit: limits.entryCount),
            "the archive has \(count) entries, more than \(limits.entryCount)")
    }

    /// The error for a name that two entries have.
    static func duplicateName(_ name: String) -> ZipError {
        ZipError(.duplicateName(name), "more than one entry is named “\(name)”, letter case aside")
    }

    /// The error for an entry past its limit.
    static func entryTooLarge(limits: ZipLimits) -> ZipError {
        ZipError(.entryTooLarge(limit: limits.entrySize), "the entry has more than \(limits.entrySize) bytes")
    }

    /// The error for entries that together are past their limit.
    static func contentsTooLarge(limits: ZipLimits) -> ZipError {
        ZipError(
            .contentsTooLarge(limit: limits.contentsSize),
            "the entries have more than \(limits.contentsSize) bytes together")
    }
}
