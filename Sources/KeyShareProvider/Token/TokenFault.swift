/// A deliberate error or unusual behaviour of a token, for tests of its clients.
///
/// To add a fault, add a case with its name, its explanation, and its implementation in ``TokenExtension`` or in the list of
/// tokens.
package enum TokenFault: String, Sendable, Hashable, Codable, CaseIterable {
    /// A prompt that the user cancels looks like a missing key.
    case cancelLooksLikeNotFound = "cancel-looks-like-not-found"
    /// A decryption that fails returns no error.
    case decryptWithoutError = "decrypt-without-error"
    /// The list contains tokens whose registrations the provider has lost.
    case staleConfiguration = "stale-configuration"
    /// The provider's app was not opened for a day, and uses no key until it is opened.
    case foregroundTimeout = "foreground-timeout"
    /// Certificates are listed, but no token has a key.
    case certificateWithoutKey = "certificate-without-key"
    /// Each token uses the key of the next one.
    case keyOfAnotherCertificate = "key-of-another-certificate"
    /// One bit of each signature is changed.
    case wrongSignature = "wrong-signature"
    /// Each key use is delayed by a second.
    case slow

    /// The error, as a clause without a full stop.
    package var explanation: String {
        switch self {
        case .cancelLooksLikeNotFound: "a cancelled prompt looks like a missing key"
        case .decryptWithoutError: "a failed decryption returns no error"
        case .staleConfiguration: "the list has tokens unknown to the provider"
        case .foregroundTimeout: "the provider's app was not opened for a day, so key uses fail"
        case .certificateWithoutKey: "certificates are listed, but no token has a key"
        case .keyOfAnotherCertificate: "each token uses the key of the next one"
        case .wrongSignature: "one bit of each signature is wrong"
        case .slow: "each key use is delayed by a second"
        }
    }
}
