package import struct Foundation.Date

/// Reads and writes zip archives of PKCS #12 files, in memory.
///
/// Names in an archive are never used as paths, and nothing is written to disk.
package enum ZipBundle {
    /// Creates an archive of `entries`, in order, that `read` accepts.
    ///
    /// Equal entries and dates always result in equal archives. Entries are stored without compression, because
    /// encrypted files cannot be compressed. Without entries, the archive is only an end of central directory record of
    /// 22 bytes (docs/rules.md R3.18).
    ///
    /// - Parameters:
    ///   - entries: The names and bytes of the files.
    ///   - modified: The date of every entry, in UTC with a resolution of two seconds; dates before 1980 or after 2107
    ///     become the nearest supported date.
    ///   - limits: The limits on sizes and counts.
    /// - Throws: `unsafeName`, `duplicateName`, `tooManyEntries`, `entryTooLarge`, `contentsTooLarge` and
    ///   `archiveTooLarge` for an archive that `read` would reject, `creationFailed` if memory runs out.
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
                    .unsafeName(entry.name, rule: .component), "“\(entry.name)” is not a valid file name")
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

    /// Creates an archive without checking names, sizes or contents, for test vectors that `read` must reject. Use
    /// `create` for archives that a provider serves.
    ///
    /// - Parameters:
    ///   - entries: The names and bytes of the entries.
    ///   - modified: The date of every entry, in UTC with a resolution of two seconds.
    ///   - isCompressed: Whether libzip deflates the entries instead of storing them.
    /// - Throws: `creationFailed` if memory runs out or libzip rejects a name.
    package static func createUnchecked(
        _ entries: [(name: String, bytes: [UInt8])], modified: Date, isCompressed: Bool = false
    ) throws(ZipError) -> [UInt8] {
        var writer = try ArchiveWriter(modified: modified)
        for entry in entries { try writer.add(entry.name, entry.bytes, isCompressed: isCompressed) }
        return try writer.finish()
    }

    /// An archive without entries: an end of central directory record (APPNOTE 4.3.16). libzip cannot write one,
    /// because it deletes an archive that becomes empty.
    private static let emptyArchive: [UInt8] = [0x50, 0x4B, 0x05, 0x06] + [UInt8](repeating: 0, count: 18)
}

extension ZipError {
    /// The error for an archive with more entries than the limit.
    static func tooManyEntries(_ count: Int, limits: ZipLimits) -> ZipError {
        ZipError(
            .tooManyEntries(limit: limits.entryCount),
            "the archive has \(count) entries, more than \(limits.entryCount)")
    }

    /// The error for an archive with several end records that programs could use.
    static var severalEndRecords: ZipError {
        ZipError(.damagedArchive, "the archive has several end records, so programs read different entries")
    }

    /// The error for two entries with the same name.
    static func duplicateName(_ name: String) -> ZipError {
        ZipError(.duplicateName(name), "several entries are named “\(name)” if letter case is ignored")
    }

    /// The error for an entry above its limit.
    static func entryTooLarge(limits: ZipLimits) -> ZipError {
        ZipError(.entryTooLarge(limit: limits.entrySize), "the entry has more than \(limits.entrySize) bytes")
    }

    /// The error for entries that in total exceed their limit.
    static func contentsTooLarge(limits: ZipLimits) -> ZipError {
        ZipError(
            .contentsTooLarge(limit: limits.contentsSize),
            "the entries have more than \(limits.contentsSize) bytes in total")
    }
}
