/// One use of a private key that is elsewhere, such as in a persistent token: what its holder is asked to do.
package enum PrivateKeyUse: Sendable, Hashable {
    /// Sign with RSA: a digest with `pkcs1(digest)`, bytes with `pkcs1(nil)`, and with `none` as many bytes as the
    /// modulus has. The result has as many bytes as the modulus.
    case signRSA([UInt8], RSAPadding)
    /// Decrypt with RSA: with `pkcs1(nil)` what was encrypted, and with `none` all bytes of the modulus, of which the
    /// padding is taken off here.
    case decryptRSA([UInt8], RSAPadding)
    /// Sign a digest by ECDSA. The result is DER (RFC 3279, 2.2.3).
    case signECDSA([UInt8])
    /// Agree on a secret with another public key, an encoded point (SEC 1, 2.3.3). The result is the coordinate x.
    case agree([UInt8])
}
