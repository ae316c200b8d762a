package import Diagnostics

/// What a token answers in place of a result, by CryptoTokenKit's codes (`TKError.h`).
package struct TokenError: Failure {
    package static let domain = FailureDomain.token

    /// The kinds of failure, by the numbers of `TKErrorCode`.
    package enum Code: Int, Sendable, Hashable, CaseIterable {
        /// The token does not have the operation.
        case notImplemented = -1
        /// Talking to the token failed, or it said nothing.
        case communicationError = -2
        /// Data that the token got or holds is damaged, such as a ciphertext with wrong padding.
        case corruptedData = -3
        /// The user refused or did not answer.
        case canceledByUser = -4
        /// The user's proof was wrong.
        case authenticationFailed = -5
        /// The token has no such object.
        case objectNotFound = -6
        /// There is no such token.
        case tokenNotFound = -7
        /// An argument is wrong for the key, such as a digest of the wrong length.
        case badParameter = -8
        /// The user has to be asked first, and nobody can be asked now.
        case authenticationNeeded = -9
    }

    /// The kind of failure.
    package let code: Code
    /// One sentence for people, without secrets.
    package let reason: String
    /// What stands behind the code, which the code may hide; nil where the code says all.
    package let obstacle: TokenObstacle?

    /// Makes an error.
    package init(_ code: Code, _ reason: String, obstacle: TokenObstacle? = nil) {
        self.code = code
        self.reason = reason
        self.obstacle = obstacle
    }

    /// The status that an app gets from the Security framework (`osstatus_for_ctk_error` in SecItem.m).
    package var status: SecurityStatus {
        switch code {
        case .notImplemented: .unimplemented
        case .communicationError: .internalError
        case .corruptedData: .decode
        case .canceledByUser: .userCanceled
        case .authenticationFailed, .authenticationNeeded: .internalError
        case .objectNotFound, .tokenNotFound: .itemNotFound
        case .badParameter: .parameter
        }
    }

    /// The name of the code in `TKError.h`.
    package var name: String {
        switch code {
        case .notImplemented: "TKErrorCodeNotImplemented"
        case .communicationError: "TKErrorCodeCommunicationError"
        case .corruptedData: "TKErrorCodeCorruptedData"
        case .canceledByUser: "TKErrorCodeCanceledByUser"
        case .authenticationFailed: "TKErrorCodeAuthenticationFailed"
        case .objectNotFound: "TKErrorCodeObjectNotFound"
        case .tokenNotFound: "TKErrorCodeTokenNotFound"
        case .badParameter: "TKErrorCodeBadParameter"
        case .authenticationNeeded: "TKErrorCodeAuthenticationNeeded"
        }
    }
}

/// What keeps a token from using a key. Apple's sample provider reports several of these as one code.
package enum TokenObstacle: String, Sendable, Hashable, CaseIterable {
    /// The device is locked, or was not unlocked since it started.
    case deviceLocked = "device-locked"
    /// The device has no passcode, so that keys for a device with a passcode are gone.
    case passcodeRemoved = "passcode-removed"
    /// The user said no.
    case userDenied = "user-denied"
    /// The user closed the question.
    case userCanceled = "user-canceled"
    /// The user did not answer in time.
    case userTimedOut = "user-timed-out"
    /// The app's entitlements do not have `com.apple.token`.
    case notEntitled = "not-entitled"
    /// The token or the object was never registered, or not any more.
    case notRegistered = "not-registered"
    /// The registration stands, and its key is gone.
    case keyMissing = "key-missing"
    /// The algorithm is not for this key.
    case wrongAlgorithm = "wrong-algorithm"
    /// The data do not have the length that the algorithm asks for.
    case wrongLength = "wrong-length"
    /// The data do not decrypt.
    case undecryptable = "undecryptable"
    /// The key's usage does not permit the operation.
    case usageForbids = "usage-forbids"
    /// The provider's app was not opened for too long.
    case foregroundTimeout = "foreground-timeout"
    /// A login had the wrong passcode.
    case wrongPasscode = "wrong-passcode"
    /// Too many logins had the wrong passcode.
    case passcodeLocked = "passcode-locked"
    /// The login is over, or was never made.
    case notLoggedIn = "not-logged-in"
}

/// A status of the Security framework (`SecBase.h`) that token keys lead to.
package enum SecurityStatus: Int32, Sendable, Hashable, CaseIterable {
    /// errSecSuccess.
    case success = 0
    /// errSecUnimplemented: the function or operation does not exist here.
    case unimplemented = -4
    /// errSecParam.
    case parameter = -50
    /// errSecUserCanceled.
    case userCanceled = -128
    /// errSSLCrypto, which the old functions give for a signature that does not verify.
    case sslCrypto = -9809
    /// errSecItemNotFound.
    case itemNotFound = -25300
    /// errSecDecode.
    case decode = -26275
    /// errSecInternal.
    case internalError = -26276
    /// errSecMissingEntitlement.
    case missingEntitlement = -34018

    /// The name of the constant in `SecBase.h` or `SecureTransport.h`.
    package var name: String {
        switch self {
        case .success: "errSecSuccess"
        case .unimplemented: "errSecUnimplemented"
        case .parameter: "errSecParam"
        case .userCanceled: "errSecUserCanceled"
        case .sslCrypto: "errSSLCrypto"
        case .itemNotFound: "errSecItemNotFound"
        case .decode: "errSecDecode"
        case .internalError: "errSecInternal"
        case .missingEntitlement: "errSecMissingEntitlement"
        }
    }
}
