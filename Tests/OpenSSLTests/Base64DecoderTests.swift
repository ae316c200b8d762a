import OpenSSL
import Testing

@Suite("Decoding Base64", .timeLimit(.minutes(10)))
struct Base64DecoderTests {
    /// The decoded bytes of Base64 that arrives in pieces; nil if it is malformed.
    private func decoded(_ pieces: String...) -> [UInt8]? {
        let decoder = Base64Decoder()
        var bytes: [UInt8] = []
        for piece in pieces {
            guard let more = decoder.decode(Array(piece.utf8)[...]) else { return nil }
            bytes += more
        }
        return decoder.finish() ? bytes : nil
    }

    @Test("Text is decoded regardless of how it is split into pieces and lines")
    func pieces() {
        for text in [
            decoded("QUJDRA==\r\n"), decoded("QUJ", "DRA=", "=", "\n \t"), decoded("QUJD\r\nRA", "=="),
        ] {
            #expect(text == Array("ABCD".utf8))
        }
        #expect(decoded() == [])
        #expect(decoded("\r\n") == [])
    }

    @Test("Text with invalid characters, an incomplete group, or data after its padding is rejected")
    func damage() {
        #expect(decoded("QUJD!") == nil)
        #expect(decoded("QUJD-") == nil)
        #expect(decoded("QUJD\r\n-\r\nQUJD") == nil)
        #expect(decoded("--\r\n", "QUJD") == nil)
        #expect(decoded("QUJ") == nil)
        #expect(decoded("QUJD", "R") == nil)
        #expect(decoded("RA==", "QUJD") == nil)
        #expect(decoded("RA==\r\n", "QUJD\r\n") == nil)
    }
}
