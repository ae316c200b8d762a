internal import CPKCS11
internal import TokenClient

/// What a function returns in place of success, and why, for the log.
struct Refusal: Error {
    let code: CK_RV
    let reason: String

    init(_ code: CK_RV, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }
}

extension Refusal {
    /// What a caller is told when a use of a key failed.
    init(_ error: TokenClientError, _ operation: KeyUse.Operation) {
        let reason = Self.reason(error)
        self.init(Self.code(error, operation), reason)
    }

    /// What a caller is told when something else than a use failed.
    init(_ error: TokenClientError) {
        self.init(error, .sign)
    }

    /// What a caller is told when a login failed.
    init(ofLogin error: TokenClientError) {
        let code: CK_RV =
            switch error {
            case .token(_, obstacle: "device-locked", _): CKR_FUNCTION_REJECTED
            case .token(_, obstacle: "passcode-removed", _): CKR_USER_PIN_NOT_INITIALIZED
            default: Self.code(error, .sign)
            }
        self.init(code, Self.reason(error))
    }

    private static func code(_ error: TokenClientError, _ operation: KeyUse.Operation) -> CK_RV {
        switch error {
        case .absent, .lost: CKR_DEVICE_REMOVED
        case .timedOut, .malformed: CKR_DEVICE_ERROR
        // 9 is serverBusy; a retry may succeed.
        case .provider(let code, _): code == 9 ? CKR_DEVICE_ERROR : CKR_GENERAL_ERROR
        case .token(let code, let obstacle, _):
            Self.code(ofObstacle: obstacle, operation) ?? Self.code(ofToken: code, operation)
        }
    }

    private static func code(ofObstacle obstacle: String, _ operation: KeyUse.Operation) -> CK_RV? {
        switch obstacle {
        // NSS would ask for a PIN again and again after a code about logging in.
        case "device-locked", "foreground-timeout": CKR_DEVICE_ERROR
        case "passcode-removed", "key-missing", "not-registered", "not-entitled": CKR_KEY_HANDLE_INVALID
        case "user-denied", "user-canceled": CKR_FUNCTION_REJECTED
        case "user-timed-out": CKR_FUNCTION_CANCELED
        // The type of the key was looked at before: what is wrong with an agreement is the other public key.
        case "wrong-algorithm":
            operation == .keyExchange ? CKR_MECHANISM_PARAM_INVALID : CKR_KEY_TYPE_INCONSISTENT
        case "wrong-length": operation == .decrypt ? CKR_ENCRYPTED_DATA_LEN_RANGE : CKR_DATA_LEN_RANGE
        case "undecryptable": CKR_ENCRYPTED_DATA_INVALID
        case "usage-forbids": CKR_KEY_FUNCTION_NOT_PERMITTED
        case "wrong-passcode": CKR_PIN_INCORRECT
        case "passcode-locked": CKR_PIN_LOCKED
        case "not-logged-in": CKR_USER_NOT_LOGGED_IN
        default: nil
        }
    }

    /// The codes of CryptoTokenKit (`TKError.h`).
    private static func code(ofToken code: Int, _ operation: KeyUse.Operation) -> CK_RV {
        switch code {
        case -1: CKR_FUNCTION_NOT_SUPPORTED
        case -3: operation == .decrypt ? CKR_ENCRYPTED_DATA_INVALID : CKR_DEVICE_ERROR
        case -4: CKR_FUNCTION_REJECTED
        case -5: CKR_PIN_INCORRECT
        case -6, -7: CKR_KEY_HANDLE_INVALID
        case -8: operation == .keyExchange ? CKR_MECHANISM_PARAM_INVALID : CKR_DATA_LEN_RANGE
        case -9: CKR_DEVICE_ERROR
        default: CKR_GENERAL_ERROR
        }
    }

    private static func reason(_ error: TokenClientError) -> String {
        switch error {
        case .absent(let reason): reason
        case .lost: "the connection to the provider broke"
        case .timedOut: "the provider did not answer in time"
        case .malformed(let reason): "the provider's answer is malformed: " + reason
        case .token(_, let obstacle, let reason): obstacle.isEmpty ? reason : reason + " (" + obstacle + ")"
        case .provider(let code, let reason): reason + " (failure \(code))"
        }
    }
}
