import SecretMemory
import Testing

@Suite("Named secrets", .timeLimit(.minutes(10)))
struct SecretFieldsTests {
    private func octets(_ secret: SecretBytes) -> [UInt8] {
        unsafe secret.withUnsafeBytes { unsafe Array($0) }
    }

    private let fields = ["": SecretBytes([]), "a": SecretBytes([1, 2]), "ä": SecretBytes(utf8: "secret")]

    @Test("Fields are encoded in the order of their names, and decoded to the same values")
    func roundTrip() {
        #expect(SecretFields.decode(SecretFields.encode(fields)) == fields)
        #expect(SecretFields.decode(SecretBytes([])) == [:])
        let encoded = SecretFields.encode(["b": SecretBytes([7]), "a": SecretBytes([])])
        #expect(octets(encoded) == [1, 0, 0, 0, 0, 0, 0, 0, 0x61, 1, 0, 0, 0, 1, 0, 0, 0, 0x62, 7])
    }

    @Test("An encoding that is truncated inside a field, or that is followed by zeros, is rejected")
    func truncated() {
        let field = octets(SecretFields.encode(["name": SecretBytes([1, 2, 3])]))
        for count in 1..<field.count {
            #expect(SecretFields.decode(SecretBytes(field.prefix(count))) == nil, "\(count) bytes")
        }
        for count in 1..<8 {
            let longer = field + [UInt8](repeating: 0, count: count)
            #expect(SecretFields.decode(SecretBytes(longer)) == nil, "\(count) zeros")
        }
    }

    @Test("A length that exceeds the rest of the bytes is rejected")
    func lengths() {
        for (name, secret): ([UInt8], [UInt8]) in [
            ([2, 0, 0, 0], [0, 0, 0, 0]), ([1, 0, 0, 0], [1, 0, 0, 0]),
            ([255, 255, 255, 255], [0, 0, 0, 0]),
            ([0, 0, 0, 0], [255, 255, 255, 255]),
        ] {
            #expect(SecretFields.decode(SecretBytes(name + secret + [0x61])) == nil)
        }
    }

    @Test("Two fields of one name, and a name that is not UTF-8, are rejected")
    func names() {
        let field = octets(SecretFields.encode(["a": SecretBytes([1])]))
        #expect(SecretFields.decode(SecretBytes(field + field)) == nil)
        #expect(SecretFields.decode(SecretBytes([1, 0, 0, 0, 0, 0, 0, 0, 0xFF])) == nil)
    }

    @Test("A name that ends one byte after the encoding is rejected")
    func nameLength() {
        #expect(SecretFields.decode(SecretBytes([2, 0, 0, 0, 0, 0, 0, 0, 0x61])) == nil)
        #expect(SecretFields.decode(SecretBytes([2, 0, 0, 0, 1, 0, 0, 0, 0x61])) == nil)
    }
}
