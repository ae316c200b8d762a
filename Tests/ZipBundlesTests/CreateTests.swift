import Foundation
import Testing

@testable import ZipBundles

@Suite("Creating archives", .timeLimit(.minutes(10)))
struct CreateTests {
    private let date = Date(timeIntervalSince1970: 1_750_000_000)

    @Test("Entries are read as they were written, in their order")
    func roundTrip() throws {
        let entries: [(name: String, bytes: [UInt8])] = [
            ("b.p12", Array("second".utf8)), ("a.pfx", []),
            ("Ünïcode – ok.P12", Array(repeating: 7, count: 200_000)),
        ]
        let contents = try ZipBundle.read(ZipBundle.create(entries, modified: date))
        #expect(contents.entries.map(\.name) == entries.map(\.name))
        #expect(try contents.entries.map { try $0.result.get() } == entries.map(\.bytes))
        #expect(contents.skipped.isEmpty)
    }

    @Test("An archive without entries consists of the end record and is read as empty")
    func empty() throws {
        let archive = try ZipBundle.create([], modified: date)
        #expect(archive.count == 22)
        let contents = try ZipBundle.read(archive)
        #expect(contents.entries.isEmpty && contents.skipped.isEmpty)
    }

    @Test("The same entries and date produce the same bytes in every time zone")
    func deterministic() throws {
        let entries: [(name: String, bytes: [UInt8])] = [("a.p12", [1, 2, 3]), ("b.p12", [4])]
        let first = try ZipBundle.create(entries, modified: date)
        #expect(try ZipBundle.create(entries, modified: date) == first)
        // 2025-06-15 15:06:40 UTC.
        #expect(first[10..<14] == [0xD4, 0x78, 0xCF, 0x5A])
        #expect(try ZipBundle.create(entries, modified: date + 2) != first)
    }

    @Test(
        "Dates that zip cannot represent become the nearest supported dates",
        arguments: [
            (-1e300, [0x00, 0x00, 0x21, 0x00]), (0, [0x00, 0x00, 0x21, 0x00]),
            (.nan, [0x00, 0x00, 0x21, 0x00]),
            (1e300, [0x7D, 0xBF, 0x9F, 0xFF]),
        ] as [(Double, [UInt8])])
    func dates(seconds: Double, bytes: [UInt8]) throws {
        let archive = try ZipBundle.create([("a.p12", [])], modified: Date(timeIntervalSince1970: seconds))
        #expect(archive[10..<14].elementsEqual(bytes))
    }

    @Test("Entries that the reader would reject are not written")
    func refusals() {
        var limits = ZipLimits()
        limits.entryCount = 2
        limits.entrySize = 10
        limits.contentsSize = 15
        let small: [UInt8] = [1]
        let cases: [([(name: String, bytes: [UInt8])], ZipError.Code)] = [
            ([("../a.p12", small)], .unsafeName("../a.p12", rule: .component)),
            ([("folder/", small)], .unsafeName("folder/", rule: .component)),
            ([("a.txt", small)], .unsafeName("a.txt", rule: .suffix)),
            ([("a.p12", small), ("A.P12", small)], .duplicateName("A.P12")),
            ([("a.p12", small), ("b.p12", small), ("c.p12", small)], .tooManyEntries(limit: 2)),
            ([("a.p12", Array(repeating: 0, count: 11))], .entryTooLarge(limit: 10)),
            (
                [("a.p12", Array(repeating: 0, count: 8)), ("b.p12", Array(repeating: 0, count: 8))],
                .contentsTooLarge(limit: 15)
            ),
        ]
        for (entries, code) in cases {
            #expect(throws: ZipError(code, "")) {
                try ZipBundle.create(entries, modified: date, limits: limits)
            }
        }
        limits.archiveSize = 50
        #expect(throws: ZipError(.archiveTooLarge(limit: 50), "")) {
            try ZipBundle.create([("a.p12", small)], modified: date, limits: limits)
        }
    }
}
