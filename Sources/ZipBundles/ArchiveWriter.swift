internal import CLibZip
internal import Foundation
private import Glibc

/// Writes one zip archive through libzip, into memory that libzip owns. An unfinished archive is discarded with this
/// value.
@safe struct ArchiveWriter: ~Copyable {
    /// libzip's handle; nil once libzip has written the archive and freed it.
    private var archive: OpaquePointer?
    private let source: OpaquePointer
    private let date: UInt16
    private let time: UInt16

    /// Begins an archive. All entries have the date `modified`.
    ///
    /// - Throws: `creationFailed`.
    init(modified: Date) throws(ZipError) {
        guard let source = unsafe zip_source_buffer_create(nil, 0, 0, nil) else { throw Self.failure }
        guard let archive = unsafe zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, nil) else {
            unsafe zip_source_free(source)
            throw Self.failure
        }
        // The archive owns the first reference to the source. The second one is for reading the result.
        unsafe zip_source_keep(source)
        unsafe self.source = source
        unsafe self.archive = archive
        (date, time) = Self.dosTimestamp(modified)
    }

    deinit {
        unsafe archive.map { unsafe zip_discard($0) }
        unsafe zip_source_free(source)
    }

    /// Adds an entry, deflated if `isCompressed` is true, otherwise stored without compression.
    ///
    /// - Throws: `creationFailed`.
    mutating func add(_ name: String, _ bytes: [UInt8], isCompressed: Bool = false) throws(ZipError) {
        guard let handle = unsafe archive else { throw Self.failure }
        // libzip reads this copy of the bytes when the archive is closed, and then frees it. An empty entry needs no
        // copy.
        var copy: UnsafeMutableRawPointer?
        if !bytes.isEmpty {
            unsafe copy = malloc(bytes.count)
            guard unsafe copy != nil else { throw Self.failure }
            unsafe bytes.withUnsafeBytes {
                unsafe UnsafeMutableRawBufferPointer(start: copy, count: $0.count).copyMemory(from: $0)
            }
        }
        guard let entry = unsafe zip_source_buffer(handle, copy, zip_uint64_t(bytes.count), 1) else {
            unsafe free(copy)
            throw Self.failure
        }
        let index = unsafe zip_file_add(handle, name, entry, zip_flags_t(ZIP_FL_ENC_UTF_8))
        guard index >= 0 else {
            unsafe zip_source_free(entry)
            throw Self.failure
        }
        let method = isCompressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE
        guard unsafe zip_set_file_compression(handle, zip_uint64_t(index), method, 0) == 0,
            unsafe zip_file_set_dostime(handle, zip_uint64_t(index), time, date, 0) == 0
        else { throw Self.failure }
    }

    /// Writes the archive and returns its bytes. Nothing can be added afterwards.
    ///
    /// - Throws: `creationFailed`.
    mutating func finish() throws(ZipError) -> [UInt8] {
        guard let handle = unsafe archive, unsafe zip_close(handle) == 0 else { throw Self.failure }
        unsafe archive = nil
        guard unsafe zip_source_open(source) == 0 else { throw Self.failure }
        defer { unsafe zip_source_close(source) }
        var stat = unsafe zip_stat_t()
        unsafe zip_stat_init(&stat)
        guard unsafe zip_source_stat(source, &stat) == 0, unsafe stat.valid & zip_uint64_t(ZIP_STAT_SIZE) != 0
        else { throw Self.failure }
        var bytes = [UInt8](repeating: 0, count: Int(unsafe stat.size))
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe zip_source_read(source, $0.baseAddress, zip_uint64_t($0.count))
        }
        guard count == bytes.count else { throw Self.failure }
        return bytes
    }

    /// Returns the MS-DOS date and time for zip headers (APPNOTE 4.4.6), in UTC. With local time, the archive's bytes
    /// would depend on the machine's time zone.
    private static func dosTimestamp(_ moment: Date) -> (date: UInt16, time: UInt16) {
        let earliest = 315_532_800.0  // 1980-01-01T00:00:00Z
        let latest = 4_354_819_198.0  // 2107-12-31T23:59:58Z
        var seconds = time_t(min(max(earliest, moment.timeIntervalSince1970), latest))
        var parts = unsafe tm()
        unsafe gmtime_r(&seconds, &parts)
        let (year, month, day) = unsafe (parts.tm_year - 80, parts.tm_mon + 1, parts.tm_mday)
        let (hour, minute, second) = unsafe (parts.tm_hour, parts.tm_min, parts.tm_sec)
        return (UInt16(year << 9 | month << 5 | day), UInt16(hour << 11 | minute << 5 | second / 2))
    }

    private static var failure: ZipError { ZipError(.creationFailed, "the archive could not be written") }
}
