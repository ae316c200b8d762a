package import struct Foundation.Date

/// Zip archives of PKCS #12 files, read and written in memory.
///
/// No path ever comes from an archive, and nothing is written to disk.
package enum ZipBundle {
    /// The files in `archive`, each with its bytes or the reason why it is refused.
    ///
    /// libzip believes what headers say: an entry that claims ten bytes can deliver fifty million, and
    /// entries that share their bytes pass its consistency check. So sizes are counted on what is read,
    /// and the sum of all claims is held against the archive's size.
    ///
    /// - Throws: `ZipError` for what concerns the archive as a whole: its size, its structure, the number of
    ///   entries, names, duplicates, overlap. Size, ratio, encryption and contents concern the entry alone
    ///   and stand in its result.
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

    /// An archive of `entries`, in their order, that `read` takes back.
    ///
    /// The same entries and date give the same bytes. Entries are stored as they are: a PKCS #12 file is
    /// encrypted, so compressing it gains nothing. No entries give the end record alone, 22 bytes.
    ///
    /// Every entry's date is `modified`, in UTC and to two seconds; outside 1980–2107 the nearest date.
    ///
    /// - Throws: `ZipError` when a name or size is one that `read` would refuse, or memory ran out.
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

    /// Makes an archive of any entries, whatever their names, sizes and contents are, for test material that `read`
    /// must refuse. `create` is for archives that are handed out.
    ///
    /// Every entry carries the date `modified`, in UTC and to two seconds.
    ///
    /// - Parameter isCompressed: whether libzip deflates the entries instead of storing them as they are.
    /// - Throws: `ZipError.Code.creationFailed` when memory runs out or libzip refuses a name.
    package static func createUnchecked(
        _ entries: [(name: String, bytes: [UInt8])], modified: Date, isCompressed: Bool = false
    ) throws(ZipError) -> [UInt8] {
        var writer = try ArchiveWriter(modified: modified)
        for entry in entries { try writer.add(entry.name, entry.bytes, isCompressed: isCompressed) }
        return try writer.finish()
    }

    /// The end-of-central-directory record of an archive without entries: libzip deletes an archive that it
    /// would have to write empty.
    private static let emptyArchive: [UInt8] = [0x50, 0x4B, 0x05, 0x06] + [UInt8](repeating: 0, count: 18)
}

extension ZipError {
    static func tooManyEntries(_ count: Int, limits: ZipLimits) -> ZipError {
        ZipError(
            .tooManyEntries(limit: limits.entryCount),
            "the archive has \(count) entries, more than \(limits.entryCount)")
    }

    static func duplicateName(_ name: String) -> ZipError {
        ZipError(.duplicateName(name), "more than one entry is named “\(name)”, letter case aside")
    }

    static func entryTooLarge(limits: ZipLimits) -> ZipError {
        ZipError(.entryTooLarge(limit: limits.entrySize), "the entry has more than \(limits.entrySize) bytes")
    }

    static func contentsTooLarge(limits: ZipLimits) -> ZipError {
        ZipError(
            .contentsTooLarge(limit: limits.contentsSize),
            "the entries have more than \(limits.contentsSize) bytes together")
    }
}
