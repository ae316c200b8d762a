internal import CPKCS11
internal import KeyShareProtocol
internal import TokenClient

/// The return code of a failed function, and the reason that is written to the log.
struct Refusal: Error {
    let code: CK_RV
    let reason: String

    init(_ code: CK_RV, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    /// The error of functions that the token does not support.
    static var unsupported: Refusal { Refusal(CKR_FUNCTION_NOT_SUPPORTED, "the token does not support this") }
}

extension Refusal {
    /// Converts the error of a key use.
    init(_ error: TokenClientError, _ operation: TokenOperation) {
        let reason = Self.reason(error)
        self.init(Self.code(error, operation), reason)
    }

    /// Converts the error of a request other than a key use.
    init(_ error: TokenClientError) {
        self.init(error, .sign)
    }

    /// Converts the error of a login.
    init(ofLogin error: TokenClientError) {
        let code: CK_RV =
            switch error {
            case .token(_, TokenRefusalReason.deviceLocked.rawValue, _): CKR_FUNCTION_REJECTED
            case .token(_, TokenRefusalReason.passcodeRemoved.rawValue, _): CKR_USER_PIN_NOT_INITIALIZED
            default: Self.code(error, .sign)
            }
        self.init(code, Self.reason(error))
    }

    private static func code(_ error: TokenClientError, _ operation: TokenOperation) -> CK_RV {
        switch error {
        case .absent, .lost: return CKR_DEVICE_REMOVED
        case .timedOut, .malformed: return CKR_DEVICE_ERROR
        // CKR_DEVICE_ERROR if the provider is busy, because a retry may then succeed.
        case .provider(let code, _):
            return FailureCode(rawValue: code) == .serverBusy ? CKR_DEVICE_ERROR : CKR_GENERAL_ERROR
        case .token(let code, let obstacle, _):
            if let reason = TokenRefusalReason(rawValue: obstacle) {
                return Self.code(of: reason, operation)
            }
            return TokenErrorCode(rawValue: code).map { Self.code(of: $0, operation) } ?? CKR_GENERAL_ERROR
        }
    }

    private static func code(of reason: TokenRefusalReason, _ operation: TokenOperation) -> CK_RV {
        switch reason {
        // A return code about logins would make NSS prompt for a PIN repeatedly.
        case .deviceLocked, .foregroundTimeout: CKR_DEVICE_ERROR
        case .passcodeRemoved, .keyMissing, .notRegistered, .notEntitled, .aliasNotFound:
            CKR_KEY_HANDLE_INVALID
        case .userDenied, .userCanceled: CKR_FUNCTION_REJECTED
        case .userTimedOut: CKR_FUNCTION_CANCELED
        // The key type was already checked, so in a key agreement the other public key must be the cause.
        case .wrongAlgorithm:
            operation == .keyExchange ? CKR_MECHANISM_PARAM_INVALID : CKR_KEY_TYPE_INCONSISTENT
        case .wrongLength: operation == .decrypt ? CKR_ENCRYPTED_DATA_LEN_RANGE : CKR_DATA_LEN_RANGE
        case .undecryptable: CKR_ENCRYPTED_DATA_INVALID
        case .usageForbids: CKR_KEY_FUNCTION_NOT_PERMITTED
        case .wrongPasscode: CKR_PIN_INCORRECT
        case .passcodeLocked: CKR_PIN_LOCKED
        case .notLoggedIn: CKR_USER_NOT_LOGGED_IN
        // The module never names KeyChain entries, so a provider has no cause for these.
        case .permissionDenied, .noKeyGrant, .unknownColumn, .nullProjection: CKR_FUNCTION_REJECTED
        }
    }

    private static func code(of code: TokenErrorCode, _ operation: TokenOperation) -> CK_RV {
        switch code {
        case .notImplemented: CKR_FUNCTION_NOT_SUPPORTED
        case .communicationError: CKR_GENERAL_ERROR
        case .corruptedData: operation == .decrypt ? CKR_ENCRYPTED_DATA_INVALID : CKR_DEVICE_ERROR
        case .canceledByUser: CKR_FUNCTION_REJECTED
        case .authenticationFailed: CKR_PIN_INCORRECT
        case .objectNotFound, .tokenNotFound: CKR_KEY_HANDLE_INVALID
        case .badParameter: operation == .keyExchange ? CKR_MECHANISM_PARAM_INVALID : CKR_DATA_LEN_RANGE
        case .authenticationNeeded: CKR_DEVICE_ERROR
        }
    }

    private static func reason(_ error: TokenClientError) -> String {
        switch error {
        case .absent(let reason): reason
        case .lost: "the connection to the provider was lost"
        case .timedOut: "the provider did not reply in time"
        case .malformed(let reason): "the provider's reply is malformed: " + reason
        case .token(_, let obstacle, let reason): obstacle.isEmpty ? reason : reason + " (" + obstacle + ")"
        case .provider(let code, let reason): reason + " (failure \(code))"
        }
    }
}
