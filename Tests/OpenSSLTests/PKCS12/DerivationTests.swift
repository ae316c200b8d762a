import SecretMemory
@testable import OpenSSL
import Testing

@Suite("Fast key derivation", .timeLimit(.minutes(10)))
struct DerivationTests {
    private static let digests = ["SHA1", "SHA256", "SHA2-256", "SHA512"]

    @Test(
        "The fast PBKDF2 returns the same result as OpenSSL's PBKDF2, for all lengths",
        arguments: digests)
    func pbkdf2(digest: String) throws {
        let loop = try #require(FastKeyDerivation(digest: digest))
        for passwordLength in [0, 1, 20, 63, 64, 65, 127, 128, 129, 300] {
            let password = String(repeating: "p", count: passwordLength)
            for (saltLength, count, iterations) in [
                (0, 1, 1), (1, 19, 2), (8, 20, 3), (16, 32, 1000), (55, 33, 2), (64, 64, 1), (130, 65, 5),
                (9, 200, 2),
            ] {
                let salt = (0..<saltLength).map { UInt8(truncatingIfNeeded: $0 &* 7) }
                let expected = try LibraryWriter.pbkdf2(
                    password, salt: salt, iterations: iterations, digest: digest, count: count)
                let key = loop.pbkdf2(
                    password: SecretBytes(utf8: password), salt: salt, iterations: iterations, count: count)
                #expect(key == SecretBytes(expected), "\(passwordLength) \(saltLength) \(count)")
            }
        }
    }

    @Test(
        "The fast derivation of RFC 7292 returns the same result as OpenSSL's, for all lengths",
        arguments: digests)
    func pkcs12(digest: String) throws {
        let loop = try #require(FastKeyDerivation(digest: digest))
        // Octets of 0xFF make the sum of step 6C carry through the whole block.
        for (length, octet) in [(0, 0), (2, 0), (18, 0x41), (64, 0xFF), (66, 0xFF), (128, 0xFF), (300, 0x80)]
        {
            let password = [UInt8](repeating: UInt8(octet), count: length)
            for (saltLength, count, iterations) in [
                (0, 1, 1), (8, 20, 3), (8, 24, 1000), (8, 32, 2), (64, 64, 1), (65, 65, 5), (20, 200, 2),
            ] {
                for purpose in 1...3 {
                    let salt = [UInt8](repeating: UInt8(octet), count: saltLength)
                    // OpenSSL rejects an empty salt together with an empty password.
                    guard length + saltLength > 0 else { continue }
                    let expected = try LibraryWriter.pkcs12(
                        bytes: password, salt: salt, purpose: CInt(purpose), iterations: iterations,
                        digest: digest, count: count)
                    let key = loop.pkcs12(
                        purpose: UInt8(purpose), password: SecretBytes(password), salt: salt,
                        iterations: iterations, count: count)
                    #expect(key == SecretBytes(expected), "\(length) \(saltLength) \(count) \(purpose)")
                }
            }
        }
    }

    @Test(
        "The fast key derivation does not support digests that OpenSSL offers only through EVP",
        arguments: ["MD5", "SHA384", "SHA3-256", "SM3", ""])
    func others(digest: String) {
        #expect(FastKeyDerivation(digest: digest) == nil)
    }
}
