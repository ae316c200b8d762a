/// One operation with an external private key, such as a persistent token's.
package enum PrivateKeyUse: Sendable, Hashable {
    /// Sign with RSA. The input is a digest for `pkcs1(digest)`, the bytes to pad for `pkcs1(nil)`, or a block as long
    /// as the modulus for `none`. The result is as long as the modulus.
    case signRSA([UInt8], RSAPadding)
    /// Decrypt with RSA. With `pkcs1(nil)` the result is the plaintext. With `none` it is a block as long as the
    /// modulus, from which this module removes the padding.
    case decryptRSA([UInt8], RSAPadding)
    /// Sign a digest with ECDSA. The result is DER (RFC 3279, 2.2.3).
    case signECDSA([UInt8])
    /// Compute the shared secret with another public key, an encoded point (SEC 1, 2.3.3). The result is the x
    /// coordinate of the shared point.
    case agree([UInt8])
}
