import Testing

@testable import OpenSSL

@Suite("Counting ASN.1 objects", .timeLimit(.minutes(10)))
struct ObjectHeaderTests {
    private let nulls = [[UInt8]](repeating: [5, 0], count: 10).flatMap(\.self)
    /// The primitive tag [2^32], without contents.
    private let hugeTag: [UInt8] = [0x9F, 0x90, 0x80, 0x80, 0x80, 0, 0]

    private func upperBound(_ bytes: [UInt8], most: Int = 1_000) -> Int {
        unsafe bytes.withUnsafeBytes { unsafe ObjectHeader.upperBound(in: $0, most: most) }
    }

    @Test("The objects inside structures are counted, and those inside strings are not")
    func parsedObjects() {
        for (bytes, expected) in [
            ([], 0), ([0x30, 2, 5, 0], 2), ([4, 2, 5, 0], 1), ([0x30, 0x80, 5, 0, 0, 0], 3),
            (nulls, 10), (nulls + hugeTag, nil), ([4, 3, 0], nil),
        ] as [([UInt8], Int?)] {
            let count = unsafe bytes.withUnsafeBytes { unsafe ObjectHeader.count(in: $0, most: 1_000) }
            #expect(count == expected, "\(bytes)")
        }
    }

    @Test("The upper bound includes the objects inside an octet string, but not those inside its own strings")
    func strings() {
        #expect(upperBound([]) == 0)
        #expect(upperBound([0x30, 8, 4, 6, 0x30, 4, 5, 0, 5, 0]) == 5)
        #expect(upperBound([4, 4, 4, 2, 5, 0]) == 2)
        #expect(upperBound([0x30, 0x80, 5, 0, 0, 0]) == 3)
    }

    @Test("Octets that are not ASN.1 count as objects of two octets, and do not hide the objects after them")
    func invalidObjects() {
        // The string would extend beyond the sequence, over the objects after it.
        #expect(upperBound([0x30, 2, 4, 20] + nulls) == 12)
        // One object in two pieces of a string.
        #expect(upperBound([0x24, 6, 4, 1, 5, 4, 1, 0]) == 4)
        #expect(upperBound(hugeTag + nulls) == 14)
    }

    @Test("Counting stops after the maximum")
    func most() {
        #expect(upperBound(nulls, most: 3) == 4)
        #expect(upperBound([4, 20] + nulls, most: 3) == 4)
        let count = unsafe nulls.withUnsafeBytes { unsafe ObjectHeader.count(in: $0, most: 3) }
        #expect(count == 4)
    }
}
