/// The parameters of a key operation: those of a key exchange (`SecKeyKeyExchangeParameter`), and those of RSA padding.
/// RSA padding parameters are fixed in the Security framework; only callers through PKCS #11 can choose them.
package struct KeyOperationParameters: Sendable, Hashable {
    /// The number of bytes to derive (`kSecKeyKeyExchangeParameterRequestedSize`).
    package var requestedSize: Int
    /// The shared information of a key derivation, which both sides must pass
    /// (`kSecKeyKeyExchangeParameterSharedInfo`); may be empty.
    package var sharedInfo: [UInt8]
    /// Additional data that the tag of ECIES authenticates; may be empty.
    package var associatedData: [UInt8]
    /// The length of a PSS salt in bytes (RFC 8017, 9.1); nil for the digest's length.
    package var saltLength: Int?
    /// The digest of the mask of PSS or OAEP (RFC 8017, B.2.1); nil for the algorithm's digest.
    package var maskDigest: SecKeyDigest?
    /// The label of OAEP (RFC 8017, 7.1); may be empty.
    package var label: [UInt8]
    /// Whether an ECDSA signature consists of its two concatenated integers (RFC 4754) instead of DER. PKCS #11 always
    /// uses this format.
    package var isSignatureConcatenated: Bool
    /// The ticket from a login; empty if there was no login. With a ticket, the user is not prompted. It does not
    /// affect the result.
    package var ticket: [UInt8]

    /// Creates parameters. The defaults are for operations that need none.
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
