/// The codes of CryptoTokenKit's errors (`TKErrorCode` in `TKError.h`).
package enum TokenErrorCode: Int, Sendable, Hashable, CaseIterable {
    /// The token does not support the operation.
    case notImplemented = -1
    /// Communication with the token failed, or the token did not reply.
    case communicationError = -2
    /// The input, or data in the token, is damaged, such as a ciphertext with wrong padding.
    case corruptedData = -3
    /// The user declined or did not answer.
    case canceledByUser = -4
    /// The user's proof of identity was wrong.
    case authenticationFailed = -5
    /// The token has no such object.
    case objectNotFound = -6
    /// The token does not exist.
    case tokenNotFound = -7
    /// An argument is invalid for the key, such as a digest of the wrong length.
    case badParameter = -8
    /// The user must be asked first, and cannot be asked now.
    case authenticationNeeded = -9
}
