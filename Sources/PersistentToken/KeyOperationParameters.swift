/// What an operation with a key takes besides its data: the parameters of a key exchange (`SecKeyKeyExchangeParameter`),
/// and those of RSA padding that the Security framework fixes and PKCS #11 leaves open.
package struct KeyOperationParameters: Sendable, Hashable {
    /// How many bytes a derivation gives (`kSecKeyKeyExchangeParameterRequestedSize`).
    package var requestedSize: Int
    /// What both sides know besides (`kSecKeyKeyExchangeParameterSharedInfo`); empty for nothing.
    package var sharedInfo: [UInt8]
    /// What the tag of ECIES covers besides the ciphertext; empty for nothing.
    package var associatedData: [UInt8]
    /// The length of a PSS salt in bytes (RFC 8017, 9.1); nil for the algorithm's, which is the digest's length.
    package var saltLength: Int?
    /// The digest of the mask of PSS or OAEP (RFC 8017, B.2.1); nil for the algorithm's.
    package var maskDigest: SecKeyDigest?
    /// The label of OAEP (RFC 8017, 7.1); empty for none.
    package var label: [UInt8]
    /// Whether an ECDSA signature is its two numbers, one behind the other (RFC 4754), and not the DER that the algorithm
    /// names. PKCS #11 has all of them so.
    package var isSignatureConcatenated: Bool
    /// What a login has given, with which the user is not asked; empty for none. It is no part of the operation.
    package var ticket: [UInt8]

    /// Makes the parameters; without arguments those of an operation that takes none.
    package init(
        requestedSize: Int = 0, sharedInfo: [UInt8] = [], associatedData: [UInt8] = [],
        saltLength: Int? = nil, maskDigest: SecKeyDigest? = nil, label: [UInt8] = [],
        isSignatureConcatenated: Bool = false, ticket: [UInt8] = []
    ) {
        self.requestedSize = requestedSize
        self.sharedInfo = sharedInfo
        self.associatedData = associatedData
        self.saltLength = saltLength
        self.maskDigest = maskDigest
        self.label = label
        self.isSignatureConcatenated = isSignatureConcatenated
        self.ticket = ticket
    }
}
