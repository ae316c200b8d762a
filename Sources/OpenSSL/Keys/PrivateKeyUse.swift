/// One operation with an external private key, such as a persistent token's.
package enum PrivateKeyUse: Sendable, Hashable {
    /// Sign with RSA: a digest with `pkcs1(digest)`, bytes with `pkcs1(nil)`, or with `none` as many bytes as the
    /// modulus. The result has the length of the modulus.
    case signRSA([UInt8], RSAPadding)
    /// Decrypt with RSA. With `pkcs1(nil)` the result is the plaintext. With `none` it is a block of the modulus's
    /// length, and the padding is removed here.
    case decryptRSA([UInt8], RSAPadding)
    /// Sign a digest with ECDSA. The result is DER (RFC 3279, 2.2.3).
    case signECDSA([UInt8])
    /// Agree on a secret with another public key, an encoded point (SEC 1, 2.3.3). The result is the x coordinate.
    case agree([UInt8])
}
