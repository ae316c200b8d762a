internal import COpenSSL
internal import SwiftASN1

extension PrivateKey {
    /// Whether the certificate contains the public half of this key.
    ///
    /// The comparison ignores encodings: an RSA key is the same with and without parameters, and an elliptic-curve key
    /// is the same with a compressed and an uncompressed point.
    package func matches(_ certificate: Certificate) -> Bool {
        matches(certificate.publicKey)
    }

    /// Whether `publicKey` is the public half of this key.
    ///
    /// Equal octets prove a match. Otherwise OpenSSL must load `publicKey`, which takes as long as reading a whole
    /// certificate.
    package func matches(_ publicKey: PublicKey) -> Bool {
        if hasOctets(of: publicKey) { return true }
        guard type.isLike(publicKey.type) else { return false }
        let isEqual = unsafe publicKey.withPointer { theirs in
            guard let theirs = unsafe theirs else { return false }
            return unsafe withPointer { unsafe EVP_PKEY_eq($0, theirs) == 1 }
        }
        OpenSSLError.discardQueue()
        return isEqual
    }

    /// Whether `publicKey` contains the octets of this key's public half: the RSA modulus and exponent, or the encoded
    /// point.
    ///
    /// The keys may be equal even if the result is false, because a point has two encodings.
    func hasOctets(of publicKey: PublicKey) -> Bool {
        guard type == publicKey.type else { return false }
        switch type {
        case .rsa:
            guard let numbers = RSANumbers(publicKey.keyOctets) else { return false }
            return number("n").map { $0[...] == numbers.modulus } ?? false
                && number("e").map { $0[...] == numbers.exponent } ?? false
        // Explicit parameters would also have to be compared.
        case .ec(curve: "explicit"), .dsa, .other: return false
        case .ec, .ed25519, .ed448, .x25519, .x448:
            return encodedPoint.map { $0[...] == publicKey.keyOctets } ?? false
        }
    }

    /// A number of the key as a big-endian magnitude, by OpenSSL's name for it; nil if the key does not have it.
    private func number(_ name: String) -> [UInt8]? {
        unsafe withPointer { key in
            var number: OpaquePointer?
            defer { unsafe BN_free(number) }
            guard unsafe EVP_PKEY_get_bn_param(key, name, &number) == 1 else {
                OpenSSLError.discardQueue()
                return nil
            }
            var octets = [UInt8](repeating: 0, count: Int(unsafe BN_num_bits(number) + 7) / 8)
            unsafe _ = BN_bn2bin(number, &octets)
            return octets
        }
    }

    /// The public point as OpenSSL would write it into a certificate; nil if the key has no public point.
    private var encodedPoint: [UInt8]? {
        unsafe withPointer { key in
            var octets: UnsafeMutablePointer<UInt8>?
            let count = unsafe EVP_PKEY_get1_encoded_public_key(key, &octets)
            defer { unsafe CRYPTO_free(octets, nil, 0) }
            guard count > 0, let octets = unsafe octets else {
                OpenSSLError.discardQueue()
                return nil
            }
            return unsafe Array(UnsafeBufferPointer(start: octets, count: count))
        }
    }
}

/// The two numbers of an RSAPublicKey (RFC 8017, A.1.1), as big-endian magnitudes without leading zeros.
struct RSANumbers {
    let modulus: ArraySlice<UInt8>
    let exponent: ArraySlice<UInt8>

    /// Reads the numbers; nil if the octets are not an RSAPublicKey in DER.
    init?(_ octets: ArraySlice<UInt8>) {
        // Parsing a million objects would take seconds.
        guard unsafe octets.withUnsafeBytes({ unsafe ObjectHeader.count(in: $0, most: 3) }) == 3,
            let root = try? DER.parse(octets), root.identifier == .sequence,
            case .constructed(let fields) = root.content
        else { return nil }
        let numbers = fields.map { field -> ArraySlice<UInt8>? in
            guard field.identifier == .integer, case .primitive(let octets) = field.content,
                let first = octets.first, first < 0x80
            else { return nil }
            return octets.drop { $0 == 0 }
        }
        guard numbers.count == 2, let modulus = numbers[0], let exponent = numbers[1] else { return nil }
        self.modulus = modulus
        self.exponent = exponent
    }
}
