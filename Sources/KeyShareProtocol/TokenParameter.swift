/// The parameters of a key use, with their numbers on the wire.
package enum TokenParameter: UInt8, Sendable, Hashable {
    /// The length of a derived key, in bytes.
    case requestedSize = 1
    /// The shared information of a key derivation (ANSI X9.63).
    case sharedInfo = 2
    /// The associated data of an authenticated encryption.
    case associatedData = 3
    /// The salt length of RSA-PSS, in bytes.
    case saltLength = 4
    /// The digest of the mask generation function (MGF1).
    case maskDigest = 5
    /// The label of RSA-OAEP.
    case label = 6
    /// The form of an ECDSA signature: DER, or r and s concatenated.
    case signatureForm = 7
    /// The ticket of a login.
    case ticket = 8
}
