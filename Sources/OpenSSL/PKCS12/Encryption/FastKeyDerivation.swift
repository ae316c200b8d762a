internal import SecretMemory
internal import COpenSSL

/// Key derivations that call OpenSSL's compression functions directly, for the digests of nearly every file.
///
/// Calls through EVP cost more than the hashing itself. These loops return the same octets as EVP_KDF in less time;
/// `DerivationTests` compares the two.
enum FastKeyDerivation {
    case sha1
    case sha256
    case sha512

    /// Finds the digest by OpenSSL's name; nil for a digest that is only available through EVP.
    init?(digest: String) {
        switch digest.uppercased() {
        case "SHA1", "SHA-1": self = .sha1
        case "SHA256", "SHA2-256": self = .sha256
        case "SHA512", "SHA2-512": self = .sha512
        default: return nil
        }
    }

    private var blockLength: Int { self == .sha512 ? 128 : 64 }

    private var digestLength: Int {
        switch self {
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        }
    }

    /// PBKDF2 with HMAC (RFC 8018, 5.2).
    ///
    /// - Parameter count: The length of the key in octets.
    func pbkdf2(password: SecretBytes, salt: [UInt8], iterations: Int, count: Int) -> SecretBytes {
        unsafe SecretBytes(capacity: count) { output in
            unsafe password.withUnsafeBytes { password in
                let bytes = unsafe password.baseAddress?.assumingMemoryBound(to: UInt8.self)
                let target = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self)
                let loop =
                    switch self {
                    case .sha1: unsafe keysharing_sha1_pbkdf2
                    case .sha256: unsafe keysharing_sha256_pbkdf2
                    case .sha512: unsafe keysharing_sha512_pbkdf2
                    }
                unsafe loop(bytes, password.count, salt, salt.count, UInt64(iterations), target, count)
            }
            return count
        }
    }

    /// The key derivation of RFC 7292, B.2. The variables `u` and `v` are named as in the RFC.
    ///
    /// - Parameters:
    ///   - purpose: The diversifier ID of RFC 7292, B.3, which identifies the use of the key.
    ///   - password: The password, as a BMPString with a terminator.
    ///   - count: The length of the key in octets.
    func pkcs12(
        purpose: UInt8, password: SecretBytes, salt: [UInt8], iterations: Int, count: Int
    ) -> SecretBytes {
        let (v, u) = (blockLength, digestLength)
        let saltLength = (salt.count + v - 1) / v * v
        let passwordLength = (password.count + v - 1) / v * v
        let result = unsafe SecretBuffer(count: (count + u - 1) / u * u)
        // The message is D, followed by I, which consists of S and P.
        let message = unsafe SecretBuffer(count: v + saltLength + passwordLength)
        let block = unsafe SecretBuffer(count: v)
        unsafe message.bytes[..<v].initialize(repeating: purpose)
        for index in 0..<saltLength { unsafe message.bytes[v + index] = salt[index % salt.count] }
        unsafe password.withUnsafeBytes { bytes in
            for index in 0..<passwordLength {
                unsafe message.bytes[v + saltLength + index] = unsafe bytes[index % bytes.count]
            }
        }
        for start in stride(from: 0, to: count, by: u) {
            let digest = unsafe UnsafeMutableBufferPointer(rebasing: result.bytes[start..<start + u])
            unsafe hash(message.bytes, into: digest)
            unsafe repeatedly(digest, times: iterations - 1)
            guard start + u < count else { break }
            for index in 0..<v { unsafe block.bytes[index] = unsafe digest[index % u] }
            for part in stride(from: v, to: v + saltLength + passwordLength, by: v) {
                unsafe Self.add(block.bytes, to: message.bytes[part..<part + v])
            }
        }
        return unsafe SecretBytes(UnsafeMutableBufferPointer(rebasing: result.bytes[..<count]))
    }

    /// Adds big-endian numbers: I_j = (I_j + B + 1) mod 2^v (RFC 7292, B.2, step 6C).
    private static func add(
        _ block: UnsafeMutableBufferPointer<UInt8>, to part: Slice<UnsafeMutableBufferPointer<UInt8>>
    ) {
        var part = unsafe part
        var carry: UInt16 = 1
        for offset in (0..<block.count).reversed() {
            let index = unsafe part.startIndex + offset
            carry += unsafe UInt16(part[index]) + UInt16(block[offset])
            unsafe part[index] = UInt8(truncatingIfNeeded: carry)
            carry >>= 8
        }
    }

    private func hash(
        _ message: UnsafeMutableBufferPointer<UInt8>, into digest: UnsafeMutableBufferPointer<UInt8>
    ) {
        switch self {
        case .sha1: unsafe _ = SHA1(message.baseAddress, message.count, digest.baseAddress)
        case .sha256: unsafe _ = SHA256(message.baseAddress, message.count, digest.baseAddress)
        case .sha512: unsafe _ = SHA512(message.baseAddress, message.count, digest.baseAddress)
        }
    }

    private func repeatedly(_ digest: UnsafeMutableBufferPointer<UInt8>, times: Int) {
        switch self {
        case .sha1: unsafe keysharing_sha1_repeat(digest.baseAddress, UInt64(times))
        case .sha256: unsafe keysharing_sha256_repeat(digest.baseAddress, UInt64(times))
        case .sha512: unsafe keysharing_sha512_repeat(digest.baseAddress, UInt64(times))
        }
    }
}

/// Owns memory for a secret during its derivation. The memory is initially zero, and is wiped before it is freed.
@unsafe private struct SecretBuffer: ~Copyable {
    let bytes: UnsafeMutableBufferPointer<UInt8>

    init(count: Int) {
        unsafe bytes = .allocate(capacity: max(count, 1))
        unsafe bytes.initialize(repeating: 0)
    }

    deinit {
        unsafe OPENSSL_cleanse(bytes.baseAddress, bytes.count)
        unsafe bytes.deallocate()
    }
}
