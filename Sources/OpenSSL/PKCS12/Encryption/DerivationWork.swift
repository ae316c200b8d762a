/// Estimates the work of a key derivation before it begins: its processor time in nanoseconds.
///
/// The number of iterations is a poor measure:
///
/// * If the key is longer than the digest, all iterations are repeated for each further block of the digest's size.
/// * RFC 7292 derives an initialisation vector in addition to the key.
/// * A digest that is only available through EVP costs ten times as much as SHA-1.
///
/// The times assume a 2020 processor with SHA instructions, and are rounded up. All digests that are computed through
/// EVP count as the slowest one, because no writer uses them with high iteration counts. The times are fixed estimates
/// and not measured, so that the verdict on a file is the same on every machine.
enum DerivationWork {
    /// The derivation of RFC 7292, B.2.
    ///
    /// - Parameter lengths: The lengths of the derived values, in octets: a key and possibly a vector.
    static func pkcs12(digest: String, iterations: Int, lengths: [Int]) -> Int {
        let cost =
            switch FastKeyDerivation(digest: digest) {
            case .sha1: 100
            case .sha256: 120
            case .sha512: 300
            case nil: slowestDigest
            }
        let size = DigestProperties(digest)?.size ?? smallestDigest
        return iterations * cost * lengths.reduce(0) { $0 + ($1 + size - 1) / size }
    }

    /// PBKDF1 (RFC 8018, 5.1). Its key is no longer than the digest, so all iterations run once.
    static func pbkdf1(iterations: Int) -> Int { iterations * slowestDigest }

    /// PBKDF2 (RFC 8018, 5.2).
    ///
    /// - Parameter length: The length of the key, in octets.
    static func pbkdf2(digest: String, iterations: Int, length: Int) -> Int {
        let cost =
            switch FastKeyDerivation(digest: digest) {
            case .sha1: 200
            case .sha256: 240
            case .sha512: 550
            case nil: slowestHMAC
            }
        let size = DigestProperties(digest)?.size ?? smallestDigest
        return iterations * cost * ((length + size - 1) / size)
    }

    /// scrypt (RFC 7914, 6): its core, preceded and followed by PBKDF2 with one iteration, which produces and consumes
    /// 128 · r · p octets.
    static func scrypt(cost: Int, blockSize: Int, parallelization: Int) -> Int {
        2 * cost * blockSize * parallelization * 300 + 2 * 4 * blockSize * parallelization * 350
    }

    /// The time of one iteration of the slowest digest, Whirlpool, through EVP, in nanoseconds.
    private static let slowestDigest = 1_100
    /// The time of one iteration of the slowest HMAC, that of SHA3-512, through EVP, in nanoseconds.
    private static let slowestHMAC = 1_400
    /// The size of the smallest digest, in octets.
    private static let smallestDigest = 16
}
