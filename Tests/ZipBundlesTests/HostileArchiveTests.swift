import CLibZip
import Foundation
import TestVectors
import Testing

@testable import ZipBundles

@Suite("Hostile archives", .timeLimit(.minutes(10)))
struct HostileArchiveTests {
    private static let placeholder = "AAAAAAAA.p12"

    /// Returns the code of the error that rejects the whole archive; nil if the archive is accepted.
    private func refusal(_ malformed: MalformedArchive, limits: ZipLimits = .standard) -> ZipError.Code? {
        do {
            _ = try ZipBundle.read(malformed.bytes, limits: limits)
            return nil
        } catch {
            return error.code
        }
    }

    /// Returns the code of the error that rejects the entry `name`; nil if the entry is accepted.
    private func entryRefusal(
        _ malformed: MalformedArchive, _ name: String = "bad.p12", limits: ZipLimits = .standard
    ) throws -> ZipError.Code? {
        let entry = try #require(
            try ZipBundle.read(malformed.bytes, limits: limits).entries.first { $0.name == name })
        guard case .failure(let error) = entry.result else { return nil }
        return error.code
    }

    @Test(
        "An unsafe file name makes the archive invalid",
        arguments: [
            ("../../aa.p12", "../../aa.p12", .component), ("/etc/aaa.p12", "/etc/aaa.p12", .component),
            ("aa/aaaaa.p12", "aa/aaaaa.p12", .component), (#"..\..\aa.p12"#, #"..\..\aa.p12"#, .component),
            ("C:aaaaaa.p12", "C:aaaaaa.p12", .colon), ("aaa.p12:b.p12", "aaa.p12:b.p12", .colon),
            ("aaaa\u{0}aaa.p12", #"aaaa\u{0}aaa.p12"#, .nul),
            ("\u{0}aaaaaaa.p12", #"\u{0}aaaaaaa.p12"#, .nul),
            ("aaaaa\naa.p12", #"aaaaa\u{A}aa.p12"#, .control),
            ("aaaaa\u{85}a.p12", #"aaaaa\u{85}a.p12"#, .control),
            ("aaaaaa\u{7F}a.p12", #"aaaaaa\u{7F}a.p12"#, .control),
            ("aaa\u{202E}aaa.p12", #"aaa\u{202E}aaa.p12"#, .control),
            ("aaaaaaaa.txt", "aaaaaaaa.txt", .suffix), ("aaaaaaaaap12", "aaaaaaaaap12", .suffix),
            ("..", "..", .dots), (".", ".", .dots),
        ] as [(String, String, ZipError.NameRule)])
    func names(name: String, shown: String, rule: ZipError.NameRule) throws {
        let placeholder = String(repeating: "Q", count: name.utf8.count)
        var malformed = try MalformedArchive([
            MalformedArchive.Entry("good.p12"), MalformedArchive.Entry(placeholder),
        ])
        malformed.rename(placeholder, name)
        #expect(refusal(malformed) == .unsafeName(shown, rule: rule))
    }

    @Test("A name with a NUL in only one of its two headers is rejected")
    func oneSidedNUL() throws {
        for header in 0...1 {
            var malformed = try MalformedArchive([MalformedArchive.Entry("aaaa aaa.p12")])
            let offset = malformed.offsets(of: Array("aaaa aaa.p12".utf8))[header]
            malformed.bytes[offset + 4] = 0
            #expect(refusal(malformed) == .unsafeName(#"aaaa\u{0}aaa.p12"#, rule: .nul))
        }
    }

    @Test("An archive full of bytes that look like headers is rejected before all of them are examined")
    func headerFlood() throws {
        let flood = (0..<2_000).flatMap { _ in MalformedArchive.centralSignature }
        #expect(
            refusal(try MalformedArchive([MalformedArchive.Entry("my key.p12", flood)])) == .damagedArchive)
    }

    @Test("A name with a space is valid")
    func space() throws {
        let contents = try ZipBundle.read(MalformedArchive([MalformedArchive.Entry("my key.p12")]).bytes)
        #expect(contents.entries.map(\.name) == ["my key.p12"])
    }

    @Test("A name that is not UTF-8 makes the archive invalid")
    func encoding() throws {
        var malformed = try MalformedArchive([MalformedArchive.Entry(Self.placeholder)])
        malformed.replace(Array("AAAAAAAA".utf8), by: [0x41, 0x41, 0xC3, 0x28, 0x41, 0x41, 0x41, 0x41])
        #expect(refusal(malformed) == .unsafeName("AA\u{FFFD}(AAAA.p12", rule: .encoding))
    }

    @Test("A name can have at most 255 bytes")
    func nameLength() throws {
        let longest = String(repeating: "a", count: 251) + ".p12"
        #expect(
            try ZipBundle.read(MalformedArchive([MalformedArchive.Entry(longest)]).bytes).entries.count == 1)
        #expect(
            refusal(try MalformedArchive([MalformedArchive.Entry("a" + longest)]))
                == .unsafeName("a" + longest, rule: .length))
    }

    @Test(
        "Entries with names that are equal or differ only in case or normalization are read and marked",
        arguments: [
            ("bbbb.p12", "aaaa.p12"), ("bbbb.p12", "AAAA.p12"), ("bbbb.p12", "aAaA.P12"),
            ("strasse.p12", "straße.p12"),
            ("e\u{301}.p12", "\u{E9}.p12"),
        ])
    func duplicates(first: String, second: String) throws {
        var malformed = try MalformedArchive([MalformedArchive.Entry(first), MalformedArchive.Entry(second)])
        malformed.rename("bbbb.p12", "aaaa.p12")
        let entries = try ZipBundle.read(malformed.bytes).entries
        #expect(entries.map(\.repeatsName) == [false, true])
        #expect(entries.last?.name == second)
        for entry in entries { #expect(try entry.result.get().isEmpty == false) }
    }

    @Test("An archive with equal names is rejected if it also has a defect that makes an archive invalid")
    func duplicatesAndMore() throws {
        var malformed = try MalformedArchive([
            MalformedArchive.Entry("bbbb.p12"), MalformedArchive.Entry("aaaa.p12"),
            MalformedArchive.Entry("cccc.p12"),
        ])
        malformed.rename("bbbb.p12", "aaaa.p12")
        malformed.rename("cccc.p12", "/ccc.p12")
        #expect(refusal(malformed) == .unsafeName("/ccc.p12", rule: .component))
    }

    @Test("An archive whose two headers of an entry have different names is rejected")
    func differentHeaders() throws {
        for header in 0...1 {
            var malformed = try MalformedArchive([MalformedArchive.Entry("aaaa.p12")])
            let offset = malformed.offsets(of: Array("aaaa.p12".utf8))[header]
            malformed.bytes[offset] = UInt8(ascii: "b")
            #expect(refusal(malformed) == .damagedArchive)
        }
    }

    @Test("Folders with equal names are skipped")
    func duplicateFolders() throws {
        var malformed = try MalformedArchive([
            MalformedArchive.Entry("bbbb/", []), MalformedArchive.Entry("aaaa/", []),
        ])
        malformed.rename("bbbb/", "aaaa/")
        #expect(try ZipBundle.read(malformed.bytes).skipped.map(\.name) == ["aaaa/", "aaaa/"])
    }

    @Test("Folders and macOS attributes are skipped and reported")
    func skipped() throws {
        let malformed = try MalformedArchive([
            MalformedArchive.Entry("folder/", [], mode: 0o040755), MalformedArchive.Entry("good.p12"),
            MalformedArchive.Entry("__MACOSX/._good.p12"),
        ])
        let contents = try ZipBundle.read(malformed.bytes)
        #expect(contents.entries.map(\.name) == ["good.p12"])
        #expect(
            contents.skipped == [
                ZipContents.Skipped(name: "folder/", reason: .folder),
                ZipContents.Skipped(name: "__MACOSX/._good.p12", reason: .macOSAttributes),
            ])
    }

    @Test(
        "Whatever operating system the entry declares, links and devices are rejected, and files are accepted",
        arguments: [
            (0o120777, ZIP_OPSYS_UNIX), (0o120777, ZIP_OPSYS_OS_X), (0o120777, ZIP_OPSYS_DOS),
            (0o020666, ZIP_OPSYS_UNIX), (0o060666, ZIP_OPSYS_UNIX), (0o010666, ZIP_OPSYS_UNIX),
            (0o140666, ZIP_OPSYS_UNIX), (0o040755, ZIP_OPSYS_UNIX),
        ] as [(UInt32, UInt32)])
    func notFiles(mode: UInt32, system: UInt32) throws {
        let malformed = try MalformedArchive([
            MalformedArchive.Entry("bad.p12", mode: mode, system: system), MalformedArchive.Entry("good.p12"),
        ])
        #expect(try entryRefusal(malformed) == .notAFile)
        #expect(try entryRefusal(malformed, "good.p12") == nil)
    }

    @Test(
        "A Windows reparse point is rejected, and the same bit has no meaning for other systems",
        arguments: [ZIP_OPSYS_DOS, ZIP_OPSYS_WINDOWS_NTFS, ZIP_OPSYS_VFAT, ZIP_OPSYS_UNIX])
    func reparsePoint(system: UInt32) throws {
        var malformed = try MalformedArchive([
            MalformedArchive.Entry("bad.p12", mode: 0, system: system)
        ])
        let header = try #require(malformed.offsets(of: MalformedArchive.centralSignature).first)
        malformed.put(0x420, at: header + 38)
        #expect(try entryRefusal(malformed) == (system == ZIP_OPSYS_UNIX ? nil : .notAFile))
    }

    @Test("Only the encrypted entry is rejected")
    func encrypted() throws {
        let malformed = try MalformedArchive([
            MalformedArchive.Entry("bad.p12", isEncrypted: true), MalformedArchive.Entry("good.p12"),
        ])
        #expect(try entryRefusal(malformed) == .encryptedEntry)
        #expect(try entryRefusal(malformed, "good.p12") == nil)
    }

    @Test("An entry with an unsupported compression method is rejected, and the others remain readable")
    func method() throws {
        let malformed = try MalformedArchive([
            MalformedArchive.Entry("bad.p12", method: ZIP_CM_BZIP2), MalformedArchive.Entry("good.p12"),
        ])
        #expect(try entryRefusal(malformed) == .unsupportedMethod(12))
        #expect(try entryRefusal(malformed, "good.p12") == nil)
    }

    @Test("An entry that declares a wrong size is rejected")
    func lyingSize() throws {
        let contents = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }
        for declared in [10, 49_999, 50_001, 1_000_000] as [UInt32] {
            var malformed = try MalformedArchive([
                MalformedArchive.Entry("bad.p12", contents, method: ZIP_CM_DEFLATE)
            ])
            malformed.patch(local: 22, central: 24, declared)
            #expect(
                try entryRefusal(malformed) == .sizeMismatch(declared: Int(declared))
                    || entryRefusal(malformed) == .damagedEntry)
        }
    }

    @Test("Decompression of an entry with a ratio of a thousand stops after the first 64 KiB")
    func bomb() throws {
        let zeroes = [UInt8](repeating: 0, count: 1 << 20)
        let malformed = try MalformedArchive([
            MalformedArchive.Entry("bad.p12", zeroes, method: ZIP_CM_DEFLATE),
            MalformedArchive.Entry("good.p12"),
        ])
        #expect(malformed.bytes.count < 4_096)
        #expect(try entryRefusal(malformed) == .excessiveRatio(limit: 25))
        #expect(try entryRefusal(malformed, "good.p12") == nil)

        let small = Array(zeroes.prefix(64 << 10))
        #expect(
            try entryRefusal(
                try MalformedArchive([MalformedArchive.Entry("bad.p12", small, method: ZIP_CM_DEFLATE)]))
                == nil)
    }

    @Test("An entry is limited to 1 MiB, both in its declared size and in its contents")
    func entrySize() throws {
        let most = [UInt8](repeating: 1, count: 1 << 20)
        #expect(try entryRefusal(try MalformedArchive([MalformedArchive.Entry("bad.p12", most)])) == nil)
        var malformed = try MalformedArchive([MalformedArchive.Entry("bad.p12", most + [1])])
        #expect(try entryRefusal(malformed) == .entryTooLarge(limit: 1 << 20))
        malformed = try MalformedArchive([MalformedArchive.Entry("bad.p12")])
        malformed.patch(local: 22, central: 24, 0xFFFF_FFF0)
        #expect(try entryRefusal(malformed) == .entryTooLarge(limit: 1 << 20))
    }

    @Test("Entries are read until the limit on the total size is reached, and later entries are rejected")
    func contentsSize() throws {
        var limits = ZipLimits()
        limits.contentsSize = 2_500
        let kilobyte = [UInt8](repeating: 1, count: 1_000)
        let malformed = try MalformedArchive(
            ["a.p12", "b.p12", "c.p12"].map { MalformedArchive.Entry($0, kilobyte) })
        #expect(try entryRefusal(malformed, "b.p12", limits: limits) == nil)
        #expect(try entryRefusal(malformed, "c.p12", limits: limits) == .contentsTooLarge(limit: 2_500))
    }

    @Test("Only the entry that does not match its checksum is rejected")
    func checksum() throws {
        var malformed = try MalformedArchive([
            MalformedArchive.Entry("bad.p12", Array("spoiled!".utf8)), MalformedArchive.Entry("good.p12"),
        ])
        malformed.rename("spoiled!", "Spoiled!")
        #expect(try entryRefusal(malformed) == .damagedEntry)
        #expect(try entryRefusal(malformed, "good.p12") == nil)
    }

    @Test("Many entries that share the same data make the archive invalid")
    func overlap() throws {
        var malformed = try MalformedArchive([
            MalformedArchive.Entry("AAAA0000.p12", Array(repeating: 1, count: 4_000))
        ])
        try malformed.repeatSingleEntry(3)
        #expect([.overlappingEntries, .damagedArchive].contains(refusal(malformed)))
        try #expect(refusal(Self.quotedOverlap(files: 40)) == .overlappingEntries)
        let inner = try MalformedArchive([
            MalformedArchive.Entry("inner.p12", Array(repeating: 1, count: 4_000))
        ])
        var nested = try MalformedArchive([MalformedArchive.Entry("outer.p12", inner.bytes)])
        try nested.listEntries(of: inner)
        #expect(refusal(nested) == .overlappingEntries)
        let other = try MalformedArchive([
            MalformedArchive.Entry("other.p12", Array(repeating: 2, count: 4_000))
        ])
        #expect(throws: ZipError.self) { try nested.listEntries(of: other) }
    }

    /// Returns an archive constructed as in David Fifield's "A better zip bomb". Each local file header except the
    /// first is also quoted at the start of the data of the previous entry, so each entry contains all following
    /// entries, and each local file header agrees with the central directory header.
    private static func quotedOverlap(files: Int) throws -> MalformedArchive {
        let kernel = [UInt8](repeating: 0, count: 2_000)
        let names = (0..<files).map { "\(String(10_000 + $0).dropFirst()).p12" }
        let plain = try MalformedArchive(
            names.map { MalformedArchive.Entry($0, kernel, method: ZIP_CM_DEFLATE) })
        let locals = plain.offsets(of: MalformedArchive.localSignature)
        let centrals = plain.offsets(of: MalformedArchive.centralSignature)
        let end = try #require(plain.offsets(of: MalformedArchive.endSignature).first)
        let data = Array(plain.bytes[(locals[files - 1] + 38)..<centrals[0]])

        // From the last entry to the first, each entry is a header, a stored deflate block that quotes the next entry's
        // header, and then the next entry's data.
        var tail = data
        var expanded = kernel
        var headers: [(local: [UInt8], central: [UInt8])] = []
        for file in names.indices.reversed() {
            if let next = headers.last {
                let count = UInt16(next.local.count)
                let block =
                    [0, UInt8(count & 0xFF), UInt8(count >> 8), UInt8(~count & 0xFF), UInt8(~count >> 8)]
                    as [UInt8]
                tail = block + next.local + tail
                expanded = next.local + expanded
            }
            var header = MalformedArchive(bytes: Array(plain.bytes[locals[file]..<locals[file] + 38]))
            var central = MalformedArchive(
                bytes: Array(plain.bytes[centrals[file]..<(file + 1 < files ? centrals[file + 1] : end)]))
            for (field, value) in [
                (0, crc32(expanded)), (4, UInt32(tail.count)), (8, UInt32(expanded.count)),
            ] {
                header.put(value, at: 14 + field)
                central.put(value, at: 16 + field)
            }
            headers.append((header.bytes, central.bytes))
        }
        headers.reverse()
        var malformed = MalformedArchive(bytes: headers[0].local + tail)
        // The 5 bytes of a deflate block's header are between two headers.
        let start = malformed.bytes.count
        for (file, header) in headers.enumerated() {
            var central = MalformedArchive(bytes: header.central)
            central.put(UInt32(file * (38 + 5)), at: 42)
            malformed.bytes += central.bytes
        }
        var trailer = MalformedArchive(bytes: Array(plain.bytes[end...]))
        trailer.put(UInt32(malformed.bytes.count - start), at: 12)
        trailer.put(UInt32(start), at: 16)
        malformed.bytes += trailer.bytes
        return malformed
    }

    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var crc = ~UInt32(0)
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1) * 0xEDB8_8320 }
        }
        return ~crc
    }

    @Test("An archive can have at most 4,096 entries and 64 MiB")
    func counts() throws {
        var limits = ZipLimits()
        limits.entryCount = 3
        let malformed = try MalformedArchive((0..<4).map { MalformedArchive.Entry("\($0).p12") })
        #expect(refusal(malformed, limits: limits) == .tooManyEntries(limit: 3))
        limits.entryCount = 4
        #expect(refusal(malformed, limits: limits) == nil)
        limits.archiveSize = malformed.bytes.count - 1
        #expect(refusal(malformed, limits: limits) == .archiveTooLarge(limit: malformed.bytes.count - 1))
        #expect(ZipLimits.standard.entryCount == 4_096 && ZipLimits.standard.archiveSize == 64 << 20)
    }

    @Test("An archive whose end record declares too many entries is rejected before libzip reads them")
    func statedCounts() throws {
        // Without this check libzip would report a damaged archive, because the central directory lacks these
        // entries.
        var malformed = try MalformedArchive([MalformedArchive.Entry("a.p12")])
        let end = try #require(malformed.offsets(of: MalformedArchive.endSignature).last)
        for (count, isTooMany) in [(4_097, true), (65_535, true), (4_096, false)] as [(UInt32, Bool)] {
            malformed.put(count, at: end + 8, size: 2)
            malformed.put(count, at: end + 10, size: 2)
            #expect((refusal(malformed) == .tooManyEntries(limit: 4_096)) == isTooMany, "\(count)")
        }
        // A Zip64 end record with 560,000 entries, its locator, and an end record that leads to them.
        malformed.put(0xFFFF, at: end + 10, size: 2)
        var large: [UInt8] = [0x50, 0x4B, 6, 6] + [UInt8](repeating: 0, count: 52)
        large.replaceSubrange(32..<36, with: [0x80, 0x8B, 0x08, 0x00])
        let offset = [UInt8(end & 0xFF), UInt8(end >> 8)] + [UInt8](repeating: 0, count: 6)
        let locator: [UInt8] = [0x50, 0x4B, 6, 7, 0, 0, 0, 0] + offset + [1, 0, 0, 0]
        malformed.bytes.insert(contentsOf: large + locator, at: end)
        #expect(refusal(malformed) == .tooManyEntries(limit: 4_096))
        malformed.bytes[end + 32..<end + 36] = [1, 0, 0, 0]
        #expect(refusal(malformed) != .tooManyEntries(limit: 4_096))
    }

    @Test("An archive that is truncated at any byte is rejected")
    func truncation() throws {
        let malformed = try MalformedArchive([
            MalformedArchive.Entry("a.p12", Array(repeating: 9, count: 500), method: ZIP_CM_DEFLATE),
            MalformedArchive.Entry("b.p12"),
        ])
        for count in malformed.bytes.indices {
            let code = refusal(MalformedArchive(bytes: Array(malformed.bytes.prefix(count))))
            #expect(code == .notAnArchive || code == .damagedArchive, "after \(count) bytes")
        }
    }

    @Test("Changing any byte of an archive causes neither a crash nor an unsafe entry name")
    func mutation() throws {
        let malformed = try MalformedArchive([
            MalformedArchive.Entry("a.p12", Array(repeating: 9, count: 100), method: ZIP_CM_DEFLATE),
            MalformedArchive.Entry("b.p12"),
        ])
        for index in malformed.bytes.indices {
            for value in [0, 1, 0x80, 0xFF] as [UInt8] {
                var mutant = malformed
                mutant.bytes[index] ^= value
                guard let contents = try? ZipBundle.read(mutant.bytes) else { continue }
                for entry in contents.entries {
                    #expect(!entry.name.contains("/") && !entry.name.contains("\\"))
                }
            }
        }
    }

    @Test("Bytes that are not an archive are reported as such", arguments: [0, 1, 21, 22, 1_000])
    func garbage(count: Int) {
        #expect(refusal(MalformedArchive(bytes: [UInt8](repeating: 0x41, count: count))) == .notAnArchive)
    }

    @Test("An archive at the limit on all contents is accepted, and one byte more is rejected")
    func contentsBoundary() throws {
        var limits = ZipLimits()
        limits.contentsSize = 1_001
        for (count, refusal) in [(1_001, nil), (1_002, .contentsTooLarge(limit: 1_001))]
            as [(Int, ZipError.Code?)]
        {
            let malformed = try MalformedArchive([
                MalformedArchive.Entry("a.p12", [UInt8](repeating: 1, count: count))
            ])
            #expect(try entryRefusal(malformed, "a.p12", limits: limits) == refusal)
        }
    }

    @Test("The number of entries is read correctly even if the archive has a comment of the maximum length")
    func longestComment() {
        var record: [UInt8] = [0x50, 0x4B, 0x05, 0x06] + [UInt8](repeating: 0, count: 18)
        record[10] = 5
        for (length, count) in [(0, 5), (65_535, 5), (65_536, nil)] as [(Int, UInt64?)] {
            let bytes = record + [UInt8](repeating: 0x20, count: length)
            #expect(unsafe bytes.withUnsafeBufferPointer { unsafe EndRecord.mostEntries($0) } == count)
        }
    }
}
