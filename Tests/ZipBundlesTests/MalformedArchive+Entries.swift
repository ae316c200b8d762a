import CLibZip
import Foundation
import TestVectors
import ZipBundles

extension MalformedArchive {
    /// An entry with attributes that `ZipBundle` never writes.
    struct Entry {
        var name: String
        var bytes: [UInt8]
        var method = ZIP_CM_STORE
        var mode: UInt32 = 0o100644
        var system = UInt32(ZIP_OPSYS_UNIX)
        var isEncrypted = false

        init(
            _ name: String, _ bytes: [UInt8] = Array("contents".utf8), method: Int32 = ZIP_CM_STORE,
            mode: UInt32 = 0o100644, system: UInt32 = ZIP_OPSYS_UNIX, isEncrypted: Bool = false
        ) {
            self.name = name
            self.bytes = bytes
            self.method = method
            self.mode = mode
            self.system = system
            self.isEncrypted = isEncrypted
        }
    }

    /// The error that names the failed libzip call.
    enum Failure: Error { case libzip(String) }

    /// Writes an archive with libzip. Every name must be unique, because libzip rejects equal ones; `rename`
    /// makes them equal afterwards.
    init(_ entries: [Entry]) throws {
        let source = unsafe zip_source_buffer_create(nil, 0, 0, nil)
        guard let source = unsafe source else { throw Failure.libzip("source") }
        defer { unsafe zip_source_free(source) }
        guard let archive = unsafe zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, nil) else {
            throw Failure.libzip("open")
        }
        unsafe zip_source_keep(source)
        for entry in entries {
            // libzip frees this copy. An empty entry needs no copy.
            let copy = unsafe entry.bytes.isEmpty ? nil : malloc(entry.bytes.count)
            unsafe entry.bytes.withUnsafeBytes {
                unsafe UnsafeMutableRawBufferPointer(start: copy, count: $0.count).copyMemory(from: $0)
            }
            let added = unsafe zip_file_add(
                archive, entry.name, zip_source_buffer(archive, copy, zip_uint64_t(entry.bytes.count), 1),
                zip_flags_t(ZIP_FL_ENC_UTF_8))
            guard added >= 0 else { throw Failure.libzip("add") }
            let index = zip_uint64_t(added)
            unsafe zip_set_file_compression(archive, index, entry.method, 0)
            unsafe zip_file_set_external_attributes(
                archive, index, 0, zip_uint8_t(entry.system),
                entry.mode > 0xFFFF ? entry.mode : entry.mode << 16)
            if entry.isEncrypted {
                unsafe zip_file_set_encryption(archive, index, zip_uint16_t(ZIP_EM_AES_256), "password")
            }
        }
        guard unsafe zip_close(archive) == 0, unsafe zip_source_open(source) == 0 else {
            throw Failure.libzip("close")
        }
        defer { unsafe zip_source_close(source) }
        var stat = unsafe zip_stat_t()
        unsafe zip_source_stat(source, &stat)
        var bytes = [UInt8](repeating: 0, count: Int(unsafe stat.size))
        _ = unsafe bytes.withUnsafeMutableBytes {
            unsafe zip_source_read(source, $0.baseAddress, zip_uint64_t($0.count))
        }
        self.init(bytes: bytes)
    }

    /// Lists the archive's only entry `count` times in the central directory, with different names and the
    /// same data. The entry's name must end with `0000.p12`, whose digits are incremented.
    mutating func repeatSingleEntry(_ count: Int) throws {
        guard let central = offsets(of: Self.centralSignature).first,
            let end = offsets(of: Self.endSignature).first
        else {
            throw Failure.libzip("no headers")
        }
        let record = Array(bytes[central..<end])
        let trailer = Array(bytes[end...])
        bytes.removeSubrange(central...)
        for number in 0..<count {
            var copy = MalformedArchive(bytes: record)
            copy.rename("0000.p12", String(String(10_000 + number).dropFirst()) + ".p12")
            bytes += copy.bytes
        }
        let newEnd = bytes.count
        bytes += trailer
        put(UInt32(count), at: newEnd + 8, size: 2)
        put(UInt32(count), at: newEnd + 10, size: 2)
        put(UInt32(newEnd - central), at: newEnd + 12)
        put(UInt32(central), at: newEnd + 16)
    }
}
