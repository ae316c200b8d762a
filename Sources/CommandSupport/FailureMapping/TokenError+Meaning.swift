internal import KeyShareProtocol
package import PersistentToken

extension TokenError: ReportableFailure {
    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .notImplemented: FailureMeaning(.refused, "not-implemented")
        case .communicationError: FailureMeaning(.providerUnavailable, "token-communication")
        case .corruptedData: FailureMeaning(.malformed, "corrupted-data", hint: otherKey)
        case .canceledByUser: FailureMeaning(.refused, "canceled-by-user")
        case .authenticationFailed: FailureMeaning(.refused, "authentication-failed")
        case .objectNotFound: FailureMeaning(.noSuchItem, "object-not-found", hint: tokens)
        case .tokenNotFound: FailureMeaning(.noSuchItem, "token-not-found", hint: tokens)
        case .badParameter: FailureMeaning(.usage, "bad-parameter", hint: algorithms)
        case .authenticationNeeded:
            FailureMeaning(.refused, "authentication-needed", hint: unlock)
        }
    }

    /// The meanings of all obstacles, each with the obstacle's name.
    package static var particularMeanings: [(name: String, meaning: FailureMeaning)] {
        TokenRefusalReason.allCases.map { ($0.rawValue, meaning(of: $0)) }
    }

    /// The meaning of the obstacle that caused the failure. If the token's code hides the obstacle, the meaning of the
    /// code, with an additional hint.
    package var particularMeaning: FailureMeaning? {
        guard let obstacle else { return nil }
        let meaning = Self.meaning(of: obstacle)
        guard code == obstacle.code else {
            // A token that emulates the sample reports only its code. The exit code and the name then also hide the
            // obstacle, but the hint reveals it.
            let shown = Self.meaning(of: code)
            return FailureMeaning(
                shown.status, shown.name,
                hint: "hidden reason: \(obstacle.phrase)" + (meaning.hint.map { "; \($0)" } ?? ""))
        }
        return meaning
    }

    /// The reason, with the corresponding numbers of CryptoTokenKit and the Security framework.
    package var message: String {
        // Android's KeyChain does not use these numbers.
        if obstacle?.isAndroid == true { return reason }
        return "\(reason) (\(name) \(code.rawValue), \(status.name) \(status.rawValue))"
    }

    /// The meaning of a refusal reason if the token reports it openly.
    private static func meaning(of obstacle: TokenRefusalReason) -> FailureMeaning {
        switch obstacle {
        case .deviceLocked: FailureMeaning(.refused, obstacle.rawValue, hint: unlock)
        case .passcodeRemoved:
            FailureMeaning(
                .noSuchItem, obstacle.rawValue,
                hint: "set a passcode, then register the identity again: keyshare-device passcode set")
        case .userDenied, .userCanceled:
            FailureMeaning(
                .refused, obstacle.rawValue, hint: "to consent as the user: keyshare-device presence allow")
        case .userTimedOut:
            FailureMeaning(
                .refused, obstacle.rawValue,
                hint:
                    "answer the prompt in time, or always consent: keyshare-device presence allow"
            )
        case .notEntitled:
            FailureMeaning(
                .refused, obstacle.rawValue, hint: "add com.apple.token to the app's keychain-access-groups")
        case .notRegistered: FailureMeaning(.noSuchItem, obstacle.rawValue, hint: tokens)
        case .keyMissing:
            FailureMeaning(
                .noSuchItem, obstacle.rawValue,
                hint: "register the identity again: keyshare-provider token add --all")
        case .wrongAlgorithm: FailureMeaning(.usage, obstacle.rawValue, hint: algorithms)
        case .wrongLength: FailureMeaning(.usage, obstacle.rawValue)
        case .undecryptable: FailureMeaning(.malformed, obstacle.rawValue, hint: otherKey)
        case .usageForbids:
            FailureMeaning(
                .usage, obstacle.rawValue,
                hint: "to list the permitted operations: keyshare-consumer token list --all")
        case .foregroundTimeout:
            FailureMeaning(
                .refused, obstacle.rawValue, hint: "serve without this fault: keyshare-provider serve")
        case .wrongPasscode:
            FailureMeaning(
                .refused, obstacle.rawValue,
                hint: "set a known passcode: keyshare-device passcode set --password-stdin")
        case .passcodeLocked:
            FailureMeaning(
                .refused, obstacle.rawValue, hint: "reset the counter: keyshare-device passcode reset-tries")
        case .notLoggedIn: FailureMeaning(.refused, obstacle.rawValue, hint: "log in again")
        case .permissionDenied:
            FailureMeaning(
                .refused, obstacle.rawValue,
                hint: "to grant READ_ALIAS as the user: keyshare-device aliases --permission allow")
        case .noKeyGrant:
            FailureMeaning(
                .refused, obstacle.rawValue, hint: "ask for a grant: keyshare-consumer alias choose ALIAS")
        case .aliasNotFound:
            FailureMeaning(
                .noSuchItem, obstacle.rawValue, hint: "to list the aliases: keyshare-consumer alias query")
        case .unknownColumn, .nullProjection:
            FailureMeaning(.usage, obstacle.rawValue, hint: "request the columns alias, certificate or type")
        }
    }

    private static let unlock = "unlock the device: keyshare-device unlock"
    private static let tokens = "to list the tokens: keyshare-provider token list"
    private static let algorithms = "to list each key's algorithms: keyshare-consumer token matrix --all"
    private static let otherKey = "use the key and the algorithm that the data was encrypted with"
}

extension TokenRefusalReason {
    /// The code that a token reports for this obstacle, unless the token hides obstacles.
    fileprivate var code: TokenError.Code {
        switch self {
        case .deviceLocked, .foregroundTimeout, .notLoggedIn: .authenticationNeeded
        case .wrongPasscode, .passcodeLocked, .permissionDenied: .authenticationFailed
        case .noKeyGrant: .authenticationNeeded
        case .aliasNotFound: .objectNotFound
        case .passcodeRemoved, .notRegistered, .keyMissing: .objectNotFound
        case .userDenied, .userCanceled, .userTimedOut: .canceledByUser
        case .notEntitled: .tokenNotFound
        case .wrongAlgorithm, .wrongLength, .usageForbids, .unknownColumn, .nullProjection: .badParameter
        case .undecryptable: .corruptedData
        }
    }

    /// Whether only Android's alias sharing has this obstacle.
    fileprivate var isAndroid: Bool {
        switch self {
        case .permissionDenied, .noKeyGrant, .aliasNotFound, .unknownColumn, .nullProjection: true
        default: false
        }
    }

    /// The description of the obstacle, as a phrase.
    fileprivate var phrase: String {
        switch self {
        case .deviceLocked: "the device is locked"
        case .passcodeRemoved: "the device has no passcode"
        case .userDenied: "the user declined"
        case .userCanceled: "the user dismissed the prompt"
        case .userTimedOut: "the user did not respond to the prompt"
        case .notEntitled: "the app is not entitled to tokens"
        case .notRegistered: "the token is not registered"
        case .keyMissing: "the token's key was deleted"
        case .wrongAlgorithm: "the key does not support the algorithm"
        case .wrongLength: "the length of the data is wrong"
        case .undecryptable: "this key cannot decrypt the data"
        case .usageForbids: "the certificate's key usage does not allow it"
        case .foregroundTimeout: "the provider's app was not opened for too long"
        case .wrongPasscode: "the passcode was wrong"
        case .passcodeLocked: "the passcode was wrong too many times"
        case .notLoggedIn: "the login has ended"
        case .permissionDenied: "the app does not have READ_ALIAS"
        case .noKeyGrant: "the app has no key grant"
        case .aliasNotFound: "KeyChain has no such entry"
        case .unknownColumn: "the column does not exist"
        case .nullProjection: "the query names no columns"
        }
    }
}
