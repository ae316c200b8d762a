import CLibZip
import Foundation
import TestVectors
import Testing

@testable import ZipBundles

@Suite("Boundaries of archives", .timeLimit(.minutes(10)))
struct ArchiveBoundaryTests {
    private let date = Date(timeIntervalSince1970: 1_750_000_000)

    private func refusal(_ bytes: [UInt8], _ limits: ZipLimits = .standard) -> ZipError.Code? {
        do {
            _ = try ZipBundle.read(bytes, limits: limits)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("An archive may have exactly the maximum size, both when it is read and when it is written")
    func size() throws {
        let archive = try ZipBundle.create([("a.p12", [1])], modified: date)
        var limits = ZipLimits()
        limits.archiveSize = archive.count
        #expect(refusal(archive, limits) == nil)
        #expect(try ZipBundle.create([("a.p12", [1])], modified: date, limits: limits) == archive)
        limits.archiveSize -= 1
        let code = ZipError.Code.archiveTooLarge(limit: limits.archiveSize)
        #expect(refusal(archive, limits) == code)
        #expect(throws: ZipError(code, "")) {
            try ZipBundle.create([("a.p12", [1])], modified: date, limits: limits)
        }
    }

    @Test("An archive begins with the header of an entry or with the end record")
    func signatures() throws {
        #expect(ZipBundle.isArchive(try ZipBundle.create([("a.p12", [1])], modified: date)))
        #expect(ZipBundle.isArchive(try ZipBundle.create([], modified: date)))
        for bytes in [[0x50, 0x4B, 1, 2], [0x50, 0x4B, 3], [0x50, 0x4B, 3, 5], []] as [[UInt8]] {
            #expect(!ZipBundle.isArchive(bytes))
        }
    }

    @Test("A name without bytes is unsafe")
    func emptyName() {
        #expect(throws: ZipError(.unsafeName("", rule: .empty), "")) {
            try EntryName([], limits: .standard)
        }
    }

    @Test("Entries are compressed only on request")
    func compression() throws {
        let entry = (name: "a.p12", bytes: [UInt8](repeating: 0, count: 10_000))
        #expect(try ZipBundle.createUnchecked([entry], modified: date, isCompressed: true).count < 1_000)
        #expect(try ZipBundle.createUnchecked([entry], modified: date).count > 10_000)
    }

    @Test("An entry may be decompressed to exactly the size that its compressed size allows")
    func ratio() throws {
        let archive = try ZipBundle.createUnchecked(
            [("a.p12", [UInt8](repeating: 0, count: 10_000))], modified: date, isCompressed: true)
        var limits = ZipLimits()
        limits.ratio = 1
        for (free, isRefused) in [(10_000, false), (9_999, true)] {
            limits.ratioFreeSize = free
            let entry = try #require(try ZipBundle.read(archive, limits: limits).entries.first)
            switch entry.result {
            case .success: #expect(!isRefused)
            case .failure(let error): #expect(isRefused && error.code == .excessiveRatio(limit: 1))
            }
        }
    }

    @Test("Bytes that look like headers are examined up to a limit for each archive")
    func falseHeaders() throws {
        // A header has 46 bytes, and its name here has none. The entry itself has two headers.
        let header = MalformedArchive.centralSignature + [UInt8](repeating: 0x20, count: 42)
        func archive(_ count: Int, name: String = "my key.p12") throws -> [UInt8] {
            try MalformedArchive([MalformedArchive.Entry(name, (0..<count).flatMap { _ in header })]).bytes
        }
        #expect(try refusal(archive(1_024)) == nil)
        #expect(try refusal(archive(1_025)) == .damagedArchive)
        // Only a name with a space can have a NUL.
        #expect(try refusal(archive(1_025, name: "key.p12")) == nil)
    }

    @Test("A false header at the end of an archive is examined only up to this end")
    func headerAtEnd() throws {
        var malformed = try MalformedArchive([MalformedArchive.Entry("my key.p12")])
        let end = try #require(malformed.offsets(of: MalformedArchive.endSignature).last)
        malformed.put(46, at: end + 20, size: 2)
        var comment = MalformedArchive.centralSignature + [UInt8](repeating: 0x20, count: 42)
        comment.replaceSubrange(28..<30, with: [5, 0])
        #expect(try ZipBundle.read(malformed.bytes + comment).entries.map(\.name) == ["my key.p12"])
    }

    @Test("An archive is rejected if its comment contains another archive, but not if an entry does")
    func archiveInComment() throws {
        let inner = try ZipBundle.create([("b.p12", [2])], modified: date)
        var outer = MalformedArchive(bytes: try ZipBundle.create([("a.p12", [1])], modified: date))
        let end = try #require(outer.offsets(of: MalformedArchive.endSignature).last)
        outer.put(UInt32(inner.count), at: end + 20, size: 2)
        #expect(refusal(outer.bytes + inner) == .damagedArchive)
        // Without the signature of the inner end record, the comment is harmless.
        let innerEnd = try #require(
            MalformedArchive(bytes: inner).offsets(of: MalformedArchive.endSignature).last)
        var comment = inner
        comment[innerEnd] ^= 0x20
        #expect(try ZipBundle.read(outer.bytes + comment).entries.map(\.name) == ["a.p12"])
        let nested = try ZipBundle.create([("a.p12", inner)], modified: date)
        #expect(try ZipBundle.read(nested).entries.map(\.name) == ["a.p12"])
    }

    @Test("An archive with equal names is rejected if it has several end records")
    func equalNamesAndEndRecords() throws {
        // libzip reports equal names only if it finds no other defect.
        let other = try ZipBundle.create([("c.p12", [1]), ("d.p12", [2]), ("e.p12", [3])], modified: date)
        var last = try MalformedArchive([
            MalformedArchive.Entry("aaaa.p12"), MalformedArchive.Entry("bbbb.p12"),
        ])
        let headers = last.offsets(of: MalformedArchive.centralSignature)
        let entries = last.offsets(of: MalformedArchive.localSignature)
        for (number, header) in headers.enumerated() {
            last.put(UInt32(other.count + entries[number]), at: header + 42)
        }
        let end = try #require(last.offsets(of: MalformedArchive.endSignature).last)
        last.put(UInt32(other.count + headers[0]), at: end + 16)
        #expect(try ZipBundle.read(other + last.bytes).entries.map(\.name) == ["aaaa.p12", "bbbb.p12"])
        last.rename("bbbb.p12", "aaaa.p12")
        #expect(refusal(other + last.bytes) == .damagedArchive)
    }

    @Test("An archive is rejected if its Zip64 end record contradicts the end record")
    func contradictoryEndRecords() throws {
        var archive = MalformedArchive(bytes: try ZipBundle.create([("a.p12", [1])], modified: date))
        var end = try #require(archive.offsets(of: MalformedArchive.endSignature).last)
        var large: [UInt8] = [0x50, 0x4B, 6, 6, 44] + [UInt8](repeating: 0, count: 51)
        for (field, value) in [(12, 45), (14, 45), (24, 1), (32, 1)] { large[field] = UInt8(value) }
        large.replaceSubrange(40..<44, with: archive.bytes[end + 12..<end + 16])
        large.replaceSubrange(48..<52, with: archive.bytes[end + 16..<end + 20])
        var locator: [UInt8] = [0x50, 0x4B, 6, 7] + [UInt8](repeating: 0, count: 16)
        locator[8] = UInt8(end)
        locator[16] = 1
        archive.bytes.insert(contentsOf: large + locator, at: end)
        end += large.count + locator.count
        #expect(try ZipBundle.read(archive.bytes).entries.map(\.name) == ["a.p12"])
        for (field, size) in [(10, 2), (12, 4), (16, 4)] {
            var altered = archive
            altered.bytes[end + field] ^= 2
            #expect(refusal(altered.bytes) == .damagedArchive, "field \(field)")
            altered.put(.max, at: end + field, size: size)
            #expect(refusal(altered.bytes) == nil, "field \(field)")
        }
        // Another program could take the last 56 bytes before the locator for the record.
        var apart = archive
        apart.bytes.insert(contentsOf: [UInt8](repeating: 0, count: 56), at: end - locator.count)
        #expect(refusal(apart.bytes) == .damagedArchive)
    }

    @Test("The largest number of entries in any end record counts, and only a complete Zip64 record is used")
    func endRecords() {
        func record(_ count: UInt8, _ high: UInt8 = 0) -> [UInt8] {
            var record: [UInt8] = [0x50, 0x4B, 5, 6] + [UInt8](repeating: 0, count: 18)
            record[10] = count
            record[11] = high
            return record
        }
        func most(_ bytes: [UInt8]) -> UInt64? {
            unsafe bytes.withUnsafeBufferPointer { unsafe EndRecord.mostEntries($0) }
        }
        #expect(most(record(2) + record(9)) == 9)
        #expect(most(record(9) + record(2)) == 9)
        var large: [UInt8] = [0x50, 0x4B, 6, 6] + [UInt8](repeating: 0, count: 52)
        large[32] = 7
        let locator: [UInt8] = [0x50, 0x4B, 6, 7] + [UInt8](repeating: 0, count: 16)
        #expect(most(large + locator + record(0xFF, 0xFF)) == 7)
        #expect(most(large + locator + record(2)) == 7)
        #expect(most(large + locator + record(9)) == 9)
        for place in [0, 3, 56, 59] {
            var altered = large + locator
            altered[place] ^= 0x20
            #expect(most(altered + record(0xFF, 0xFF)) == 0xFFFF, "byte \(place)")
        }
    }
}
