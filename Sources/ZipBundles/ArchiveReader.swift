internal import CLibZip
private import Glibc

extension ZipBundle {
    /// Returns whether the bytes begin like an archive: with the header of an entry, or with the end record of an empty
    /// archive (PKWARE APPNOTE 4.3.7 and 4.3.16).
    package static func isArchive(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: [0x50, 0x4B, 0x03, 0x04]) || bytes.starts(with: [0x50, 0x4B, 0x05, 0x06])
    }

    /// Reads the files in `archive`, each with its bytes or the reason for its rejection.
    ///
    /// libzip trusts headers: an entry with a declared size of ten bytes can contain fifty million, and entries that
    /// share their bytes pass libzip's consistency check. Sizes are therefore counted while reading, and the sum of the
    /// sizes that all headers declare must fit into the archive (docs/rules.md R7.14).
    ///
    /// - Parameters:
    ///   - archive: The whole archive.
    ///   - limits: The limits on sizes and counts.
    /// - Throws: `archiveTooLarge`, `notAnArchive`, `damagedArchive`, `tooManyEntries`, `unsafeName` and
    ///   `overlappingEntries`, which reject the whole archive (docs/rules.md R7.16). Other errors concern one file
    ///   and are part of its entry.
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
            if let count = unsafe EndRecord.mostEntries(bytes), count > limits.entryCount {
                throw .tooManyEntries(Int(clamping: count), limits: limits)
            }
            guard unsafe !EndRecord.isAmbiguous(bytes) else { throw .severalEndRecords }
            guard unsafe !EndRecord.isContradictory(bytes) else {
                throw ZipError(
                    .damagedArchive, "the two end records differ, so programs read different entries")
            }
            let (checked, code) = unsafe ArchiveReader.open(bytes, flags: ZIP_RDONLY | ZIP_CHECKCONS)
            // libzip checks for equal names last. If only that check failed, the archive is opened again without any
            // checks: equal names are harmless here, because no entry is looked up by its name.
            guard unsafe code != ZIP_ER_EXISTS || EndRecord.isOnlyOne(bytes) else { throw .severalEndRecords }
            let archive =
                unsafe code == ZIP_ER_EXISTS
                ? ArchiveReader.open(bytes, flags: ZIP_RDONLY).archive : checked
            guard let archive = unsafe archive else {
                throw code == ZIP_ER_NOZIP
                    ? ZipError(.notAnArchive, "this is not a zip archive")
                    : ZipError(.damagedArchive, "the archive is damaged or incomplete")
            }
            return unsafe try ArchiveReader(archive: archive, bytes: bytes, limits: limits).contents()
        }
    }
}

/// Reads one zip archive in memory through libzip, without trusting the archive's headers. This value owns libzip's
/// handle and frees it; the caller owns the bytes, which must outlive this value.
///
/// Records and fields have their names from PKWARE's APPNOTE.TXT, 4.3.
@safe struct ArchiveReader: ~Copyable {
    fileprivate let archive: OpaquePointer
    fileprivate let bytes: UnsafeBufferPointer<UInt8>
    fileprivate let limits: ZipLimits

    /// Returns libzip's handle, which the caller must discard. If the archive cannot be opened, returns nil and
    /// libzip's error code.
    fileprivate static func open(
        _ bytes: UnsafeBufferPointer<UInt8>, flags: CInt
    ) -> (archive: OpaquePointer?, code: CInt) {
        var error = unsafe zip_error_t()
        unsafe zip_error_init(&error)
        defer { unsafe zip_error_fini(&error) }
        guard
            let source = unsafe zip_source_buffer_create(
                bytes.baseAddress, zip_uint64_t(bytes.count), 0, &error)
        else { return unsafe (nil, error.zip_err) }
        guard let archive = unsafe zip_open_from_source(source, flags, &error) else {
            unsafe zip_source_free(source)
            return unsafe (nil, error.zip_err)
        }
        return unsafe (archive, ZIP_ER_OK)
    }

    deinit {
        unsafe zip_discard(archive)
    }

    /// Reads all files after checking the headers of all entries (docs/rules.md R7.14 to R7.16).
    ///
    /// - Throws: `ZipError` for the archive as a whole; errors of one file are part of its entry.
    func contents() throws(ZipError) -> ZipContents {
        // `read` has limited the number.
        let count = Int(unsafe zip_get_num_entries(archive, 0))
        var headers: [Header] = []
        var skipped: [ZipContents.Skipped] = []
        var folded: Set<String> = []
        var repeated: Set<Int> = []
        var leastSize = Header.endOfCentralDirectorySize
        for (index, name) in try rawNames(count: count).enumerated() {
            let header = try header(UInt64(index), name: name)
            let (sum, overflow) = leastSize.addingReportingOverflow(header.leastSize)
            guard !overflow, unsafe sum <= bytes.count else {
                throw ZipError(.overlappingEntries, "the entries require more bytes than the archive has")
            }
            leastSize = sum
            if !folded.insert(EntryName.folded(header.name.text)).inserted { repeated.insert(index) }
            switch header.name {
            case .skipped(let name, let reason):
                skipped.append(ZipContents.Skipped(name: name, reason: reason))
            case .file:
                headers.append(header)
            }
        }

        var total = 0
        var entries: [ZipContents.Entry] = []
        for header in headers {
            let result: Result<[UInt8], ZipError>
            do throws(ZipError) {
                result = .success(try contents(of: header, total: &total))
            } catch {
                result = .failure(error)
            }
            entries.append(
                ZipContents.Entry(
                    name: header.name.text, repeatsName: repeated.contains(Int(header.index)), result: result)
            )
        }
        return ZipContents(entries: entries, skipped: skipped)
    }

    /// The central directory header of an entry (APPNOTE 4.3.12). Its sizes are checked later, while the data is read.
    private struct Header {
        /// The size of the end of central directory record (APPNOTE 4.3.16) without a comment, in bytes.
        static let endOfCentralDirectorySize = 22
        /// The size of an entry's local file header and central directory header without their variable fields.
        static let fixedSize = 30 + 46

        /// The entry's number in the central directory, from zero.
        var index: UInt64
        /// The file name, which was checked.
        var name: EntryName
        /// The uncompressed size in the header.
        var size: UInt64
        /// The compressed size in the header.
        var compressedSize: UInt64
        /// The compression method.
        var method: Int
        /// Whether the entry is encrypted.
        var isEncrypted: Bool
        /// Whether the external file attributes are those of a regular file.
        var isFile: Bool
        /// The size of the file name in bytes.
        var nameLength: Int

        /// The minimum number of bytes that the entry occupies in the archive: headers, name and compressed data.
        var leastSize: Int {
            let (sum, overflow) = Int(clamping: compressedSize)
                .addingReportingOverflow(Self.fixedSize + nameLength)
            return overflow ? Int.max : sum
        }
    }

    /// Reads the central directory header of an entry.
    private func header(_ index: UInt64, name: [UInt8]) throws(ZipError) -> Header {
        var stat = unsafe zip_stat_t()
        unsafe zip_stat_init(&stat)
        let wanted = zip_uint64_t(
            ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD)
        guard unsafe zip_stat_index(archive, index, 0, &stat) == 0, unsafe stat.valid & wanted == wanted
        else {
            throw ZipError(.damagedArchive, "the archive has an entry that does not specify its sizes")
        }
        return Header(
            index: index, name: try EntryName(name, limits: limits),
            size: unsafe stat.size, compressedSize: unsafe stat.comp_size,
            method: Int(unsafe stat.comp_method),
            isEncrypted: unsafe stat.encryption_method != zip_uint16_t(ZIP_EM_NONE),
            isFile: isFile(index), nameLength: name.count)
    }

    /// Whether the external file attributes (APPNOTE 4.4.15) are those of a regular file.
    ///
    /// The UNIX mode is checked for every host system, because some writers store it in entries that they mark as
    /// MS-DOS.
    private func isFile(_ index: UInt64) -> Bool {
        var system: zip_uint8_t = 0
        var attributes: zip_uint32_t = 0
        guard unsafe zip_file_get_external_attributes(archive, index, 0, &system, &attributes) == 0 else {
            return false
        }
        let type = (attributes >> 16) & UInt32(S_IFMT)
        let windowsReparsePoint: UInt32 = 0x400
        let isWindows = [ZIP_OPSYS_DOS, ZIP_OPSYS_WINDOWS_NTFS, ZIP_OPSYS_VFAT].contains(UInt32(system))
        return (type == 0 || type == UInt32(S_IFREG)) && !(isWindows && attributes & windowsReparsePoint != 0)
    }

    /// Reads one file and adds its size to `total`, the number of bytes read from the whole archive.
    ///
    /// - Throws: `ZipError` for this entry only.
    private func contents(of header: Header, total: inout Int) throws(ZipError) -> [UInt8] {
        guard !header.isEncrypted else { throw ZipError(.encryptedEntry, "the entry is encrypted") }
        guard header.isFile else {
            throw ZipError(.notAFile, "the entry is a symbolic link or another object that is not a file")
        }
        guard [Int(ZIP_CM_STORE), Int(ZIP_CM_DEFLATE)].contains(header.method) else {
            throw ZipError(
                .unsupportedMethod(header.method), "the entry is compressed by method \(header.method)")
        }
        guard header.size <= limits.entrySize else { throw .entryTooLarge(limits: limits) }
        guard let file = unsafe zip_fopen_index(archive, header.index, 0) else {
            throw ZipError(.damagedEntry, "the entry's data cannot be read")
        }
        defer { unsafe zip_fclose(file) }

        // Reading one byte more than the declared size shows whether the entry contains more data.
        let declared = Int(header.size)
        let (mostByRatio, overflow) = Int(clamping: header.compressedSize)
            .multipliedReportingOverflow(by: limits.ratio)
        let most = overflow ? Int.max : max(mostByRatio, limits.ratioFreeSize)
        var contents = [UInt8](repeating: 0, count: declared + 1)
        var count = 0
        while count < contents.count {
            let wanted = min(contents.count - count, 16 << 10)
            let read = unsafe contents.withUnsafeMutableBytes { buffer in
                unsafe zip_fread(file, buffer.baseAddress.map { unsafe $0 + count }, zip_uint64_t(wanted))
            }
            guard read >= 0 else {
                throw ZipError(.damagedEntry, "the entry's data cannot be decompressed")
            }
            guard read > 0 else { break }
            count += Int(read)
            total += Int(read)
            guard count <= most else {
                throw ZipError(
                    .excessiveRatio(limit: limits.ratio),
                    "the entry decompresses to more than \(limits.ratio) times its compressed size")
            }
            guard total <= limits.contentsSize else { throw .contentsTooLarge(limits: limits) }
        }
        guard count == declared else {
            throw ZipError(
                .sizeMismatch(declared: declared), "the entry's size is not the declared \(declared) bytes")
        }
        contents.removeLast()
        return contents
    }
}

// libzip silently replaces every NUL in a name with a space. A name such as `a.p12\0.exe` must be rejected, so names
// with a space are looked up in the archive's own headers.
extension ArchiveReader {
    /// Returns the bytes of all names, in which NULs are not replaced.
    ///
    /// - Throws: `damagedArchive`.
    private func rawNames(count: Int) throws(ZipError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        names.reserveCapacity(count)
        for index in 0..<UInt64(count) {
            guard let name = unsafe zip_get_name(archive, index, zip_flags_t(ZIP_FL_ENC_RAW)) else {
                throw ZipError(.damagedArchive, "the archive has an entry without a name")
            }
            unsafe names.append(Array(UnsafeRawBufferPointer(start: name, count: strlen(name))))
        }
        guard names.contains(where: { $0.contains(UInt8(ascii: " ")) }) else { return names }
        let withNUL = try namesWithNUL(count: count)
        return names.map { withNUL[$0] ?? $0 }
    }

    /// Returns the names that contain NUL, keyed by libzip's version of each name, in which spaces replace NULs.
    ///
    /// Searches all bytes of the archive that resemble a header. Data inside an entry may also resemble a header; the
    /// only effect is that a valid archive may be rejected.
    ///
    /// - Throws: `damagedArchive` if there are far more headers than for `count` entries. An archive full of false
    ///   headers is an attempt to consume time.
    private func namesWithNUL(count: Int) throws(ZipError) -> [[UInt8]: [UInt8]] {
        var found: [[UInt8]: [UInt8]] = [:]
        var headers = 0
        var start = 0
        while let offset = offset(of: UInt8(ascii: "P"), from: start) {
            start = offset + 1
            guard let field = nameField(at: offset) else { continue }
            headers += 1
            guard headers <= 2 * count + 1_024 else {
                throw ZipError(.damagedArchive, "the archive has many more headers than entries")
            }
            // A longer name is rejected with or without NUL.
            guard field.count <= limits.nameLength else { continue }
            let name = unsafe Array(bytes[field])
            if name.contains(0) {
                found[name.map { $0 == 0 ? UInt8(ascii: " ") : $0 }] = name
            }
        }
        return found
    }

    /// Returns the offset of the next `byte` at or after `start`; nil if there is no such byte.
    private func offset(of byte: UInt8, from start: Int) -> Int? {
        guard let base = unsafe bytes.baseAddress, unsafe start < bytes.count,
            let found = unsafe memchr(base + start, CInt(byte), bytes.count - start)
        else { return nil }
        return unsafe UnsafeRawPointer(base).distance(to: found)
    }

    /// Returns the range of the file name if the data at `offset` resembles a local file header ("PK" 3 4, APPNOTE
    /// 4.3.7) or a central directory header ("PK" 1 2, APPNOTE 4.3.12). Returns nil for other data.
    private func nameField(at offset: Int) -> Range<Int>? {
        guard unsafe offset + 46 <= bytes.count, unsafe bytes[offset + 1] == UInt8(ascii: "K") else {
            return nil
        }
        let (length, name): (Int, Int)
        switch unsafe (bytes[offset + 2], bytes[offset + 3]) {
        case (1, 2): (length, name) = (offset + 28, offset + 46)
        case (3, 4): (length, name) = (offset + 26, offset + 30)
        default: return nil
        }
        let count = unsafe Int(bytes[length]) | Int(bytes[length + 1]) << 8
        return unsafe name..<min(name + count, bytes.count)
    }
}
