internal import Diagnostics
package import KeyShareProtocol

/// An error of a token, with CryptoTokenKit's codes (`TKError.h`).
package struct TokenError: Failure {
    /// The kind of failure, with the numbers of `TKErrorCode`.
    package typealias Code = TokenErrorCode

    /// The kind of failure.
    package let code: Code
    /// One sentence for users, without secrets.
    package let reason: String
    /// The specific reason, because several reasons share one code; nil if the code is specific enough.
    package let obstacle: TokenRefusalReason?

    /// Creates an error.
    package init(_ code: Code, _ reason: String, obstacle: TokenRefusalReason? = nil) {
        self.code = code
        self.reason = reason
        self.obstacle = obstacle
    }

    /// The status that an app receives from the Security framework (`osstatus_for_ctk_error` in SecItem.m).
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

/// A status of the Security framework (`SecBase.h`) that operations with token keys return.
package enum SecurityStatus: Int32, Sendable, Hashable, CaseIterable {
    /// errSecSuccess.
    case success = 0
    /// errSecUnimplemented: the function or operation does not exist here.
    case unimplemented = -4
    /// errSecParam.
    case parameter = -50
    /// errSecUserCanceled.
    case userCanceled = -128
    /// errSSLCrypto, which older functions return for an invalid signature.
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
