/// An operation with a private key of a token (CryptoTokenKit's `TKTokenOperation`).
package enum TokenOperation: UInt8, Sendable, Hashable, CaseIterable {
    /// Signing a message or a digest.
    case sign = 1
    /// Decrypting data that was encrypted with the public key.
    case decrypt = 2
    /// Agreeing on a secret with another public key (elliptic-curve Diffie-Hellman).
    case keyExchange = 3
}
