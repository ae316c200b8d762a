import OpenSSL
import SecretMemory
import Testing

@Suite("Sealed records", .timeLimit(.minutes(10)))
struct SealingKeyTests {
    private let plaintext = SecretBytes(utf8: "a secret")
    private let place = Array("row 1".utf8)

    private func key(_ octet: UInt8) throws -> SealingKey {
        try SealingKey(SecretBytes([UInt8](repeating: octet, count: SealingKey.byteCount)))
    }

    @Test("A sealed record can be opened only with its key and its associated data")
    func opening() throws {
        let key = try key(1)
        let sealed = try key.seal(plaintext, associatedData: place)
        #expect(key.open(sealed, associatedData: place) == plaintext)
        #expect(key.open(sealed, associatedData: Array("row 2".utf8)) == nil)
        #expect(key.open(sealed, associatedData: []) == nil)
        #expect(try self.key(2).open(sealed, associatedData: place) == nil)
    }

    @Test("A sealed record cannot be opened if one bit is changed or if it is truncated")
    func damage() throws {
        let key = try key(1)
        let sealed = try key.seal(plaintext, associatedData: place)
        for bit in 0..<sealed.count * 8 {
            var damaged = sealed
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(key.open(damaged, associatedData: place) == nil, "bit \(bit)")
        }
        for count in 0..<sealed.count {
            #expect(key.open(Array(sealed.prefix(count)), associatedData: place) == nil, "\(count) octets")
        }
    }

    @Test("A sealed record is 28 octets longer than its contents, and differs each time")
    func nonces() throws {
        let key = try key(1)
        for text in ["", "a", "a secret"] {
            let secret = SecretBytes(utf8: text)
            let sealed = try (0..<100).map { _ in try key.seal(secret, associatedData: place) }
            let length = text.utf8.count + 28
            #expect(sealed.allSatisfy { $0.count == length })
            #expect(Set(sealed).count == 100)
            #expect(sealed.allSatisfy { key.open($0, associatedData: place) == secret })
        }
    }

    @Test("A key whose size is not 32 octets is rejected", arguments: [0, 16, 31, 33])
    func sizes(count: Int) {
        #expect(throws: OpenSSLError.self) {
            try SealingKey(SecretBytes([UInt8](repeating: 0, count: count)))
        }
    }
}
