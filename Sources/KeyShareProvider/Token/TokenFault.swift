/// One thing that a token does wrong, or unusually, on purpose, so that its users can be tested against it.
///
/// A new fault is one more case: its name, what goes wrong, and where ``TokenKeys`` or the list of tokens does it.
package enum TokenFault: String, Sendable, Hashable, Codable, CaseIterable {
    /// A user who closes the question looks like a key that is not there.
    case cancelLooksLikeNotFound = "cancel-looks-like-not-found"
    /// A decryption that fails gives no error.
    case decryptWithoutError = "decrypt-without-error"
    /// The list has tokens whose registration the provider does not know any more.
    case staleConfiguration = "stale-configuration"
    /// The provider's app was not opened for a day, and uses no key until it is.
    case foregroundTimeout = "foreground-timeout"
    /// Certificates are listed, and no token has its key.
    case certificateWithoutKey = "certificate-without-key"
    /// Each token has the key of the next one.
    case keyOfAnotherCertificate = "key-of-another-certificate"
    /// Signatures have one bit changed.
    case wrongSignature = "wrong-signature"
    /// A second passes before each use.
    case slow

    /// What goes wrong, as a clause without a full stop.
    package var explanation: String {
        switch self {
        case .cancelLooksLikeNotFound: "a question that the user closes looks like a key that is not there"
        case .decryptWithoutError: "a decryption that fails gives no error"
        case .staleConfiguration: "tokens are listed that the provider does not know any more"
        case .foregroundTimeout: "the provider's app was not opened for a day, and uses no key"
        case .certificateWithoutKey: "certificates are listed, and no token has its key"
        case .keyOfAnotherCertificate: "each token uses the key of the next one"
        case .wrongSignature: "one bit of each signature is wrong"
        case .slow: "a second passes before each use"
        }
    }
}
