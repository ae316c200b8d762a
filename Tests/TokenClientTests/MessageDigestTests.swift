import OpenSSL
import Testing

@testable import TokenClient

@Suite("The digests of the PKCS #11 module", .timeLimit(.minutes(10)))
struct MessageDigestTests {
    private static let counts = [
        0, 1, 3, 55, 56, 57, 63, 64, 65, 111, 112, 113, 119, 120, 127, 128, 129, 1_000,
    ]

    private static func message(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    }

    @Test("SHA-1 and SHA-256 agree with OpenSSL for lengths around a block", arguments: counts)
    func reference(count: Int) {
        let message = Self.message(count)
        #expect(MessageDigest.digest(.sha256, of: message) == Digest.sha256(message))
        #expect(MessageDigest.digest(.sha1, of: message) == Digest.sha1(message))
    }

    /// The examples of FIPS 180-4 for "abc".
    @Test(
        "Every algorithm computes the digest in the standard's example",
        arguments: [
            (MessageDigest.Algorithm.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (.sha224, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
            (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                .sha384,
                "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded163"
                    + "1a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
            ),
            (
                .sha512,
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                    + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
            ),
        ])
    func examples(algorithm: MessageDigest.Algorithm, expected: String) {
        let digest = MessageDigest.digest(algorithm, of: Array("abc".utf8))
        let text = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(text == expected)
        #expect(digest.count == algorithm.length)
    }

    @Test("Saving and restoring the state between the parts of a message does not change its digest")
    func parts() throws {
        let message = Self.message(1_000)
        for algorithm in MessageDigest.Algorithm.allCases {
            for step in [1, 63, 64, 65, 127, 128, 129, 500] {
                var digest = MessageDigest(algorithm)
                for start in stride(from: 0, to: message.count, by: step) {
                    let part = Array(message[start..<min(start + step, message.count)])
                    unsafe part.withUnsafeBytes { unsafe digest.update($0) }
                    digest = try #require(MessageDigest(saved: digest.saved))
                }
                #expect(digest.finalized() == MessageDigest.digest(algorithm, of: message), "\(step)")
            }
        }
    }

    @Test("A saved digest that is truncated, extended or of another algorithm is rejected")
    func defectiveStates() {
        var digest = MessageDigest(.sha256)
        let message = Self.message(100)
        unsafe message.withUnsafeBytes { unsafe digest.update($0) }
        let saved = digest.saved
        for count in 0..<saved.count {
            #expect(MessageDigest(saved: Array(saved[..<count])) == nil, "\(count)")
        }
        #expect(MessageDigest(saved: saved + [0]) == nil)
        #expect(MessageDigest(saved: [9] + saved.dropFirst()) == nil)
        // A word of SHA-256 has 32 bits.
        #expect(MessageDigest(saved: saved[..<9] + [1] + saved[10...]) == nil)
    }
}
