import OpenSSL
import SecretMemory
import Testing

@Suite("AES-GCM", .timeLimit(.minutes(10)))
struct AESGCMTests {
    /// Test case 16 of the GCM specification (McGrew and Viega, appendix B).
    private static let key = bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
    private static let vector = bytes("cafebabefacedbaddecaf888")
    private static let associated = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    private static let plaintext = bytes(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
            + "b16aedf5aa0de657ba637b39")
    private static let sealed = bytes(
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
            + "c5f61e6393ba7a0abcc9f662" + "76fc6ece0f4e1768cddf8853bb2d551b")

    private static func bytes(_ digits: String) -> [UInt8] {
        let values = digits.compactMap(\.hexDigitValue).map(UInt8.init)
        return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }

    private func open(
        _ sealed: [UInt8], vector: [UInt8] = vector, associatedData: [UInt8] = associated
    ) throws -> SecretBytes? {
        try AESGCM.open(
            sealed[...], key: SecretBytes(Self.key), vector: vector, associatedData: associatedData)
    }

    @Test("Sealing and opening conform to the specification's test case")
    func reference() throws {
        let sealed = try AESGCM.seal(
            SecretBytes(Self.plaintext), key: SecretBytes(Self.key), vector: Self.vector,
            associatedData: Self.associated)
        #expect(sealed == Self.sealed)
        #expect(try open(Self.sealed) == SecretBytes(Self.plaintext))
    }

    @Test("A ciphertext does not open if any bit of it or of its tag differs")
    func altered() throws {
        for bit in 0..<Self.sealed.count * 8 {
            var altered = Self.sealed
            altered[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(try open(altered) == nil, "bit \(bit)")
        }
    }

    @Test("A truncated ciphertext does not open, even if it is shorter than a tag")
    func truncated() throws {
        for count in 0..<Self.sealed.count {
            #expect(try open(Array(Self.sealed.prefix(count))) == nil, "\(count) bytes")
            #expect(try open(Array(Self.sealed.suffix(count))) == nil, "the last \(count) bytes")
        }
    }

    @Test("A ciphertext does not open with another vector or other associated data")
    func bound() throws {
        #expect(try open(Self.sealed, vector: Self.vector.reversed()) == nil)
        #expect(try open(Self.sealed, associatedData: []) == nil)
    }

    @Test("A key that is not an AES key is rejected", arguments: [0, 15, 17, 31, 33])
    func keys(count: Int) {
        #expect(throws: OpenSSLError.self) {
            try AESGCM.open(
                Self.sealed[...], key: SecretBytes([UInt8](repeating: 0, count: count)), vector: Self.vector,
                associatedData: Self.associated)
        }
    }
}
