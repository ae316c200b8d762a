internal import KeyShareProtocol
internal import OpenSSL
internal import PersistentToken
internal import SecretMemory

/// An error or unusual behaviour that a token shows deliberately, so that its clients can be tested.
///
/// To add a fault, add a line to `allCases` with its name, its explanation, and its differences from a correct token.
/// `serve --token-fault`, its help and the page of `keyshare-device web` use this list.
package struct TokenFault: Sendable {
    /// The name of the fault on the command line.
    package let name: String
    /// The fault's behaviour, as a clause without a full stop.
    package let explanation: String
    /// The changes that ``FaultyToken`` makes to the behaviour of a correct token.
    let changes: Changes

    /// The differences between a token with a fault and a correct token.
    struct Changes: Sendable {
        /// The delay of each key use.
        var delay = Duration.zero
        /// Whether the lists show no keys.
        var hidesKeys = false
        /// Returns the error with which every key use fails; nil if key uses do not fail.
        var refusal: (@Sendable (TokenUse, TokenExtension) throws -> TokenError)?
        /// Returns the registration whose key is used instead of the registration with this label; nil to use its own
        /// key.
        var keyOwner: (@Sendable (String, TokenCatalogue.Snapshot) -> TokenRegistration?)?
        /// Changes the result of a key use.
        var result: (@Sendable (SecretBytes, TokenUse) -> SecretBytes)?
        /// Changes the error of a key use.
        var error: @Sendable (TokenError) -> TokenError = { $0 }
    }
}

extension TokenFault: CaseIterable {
    /// All faults, in the order in which the help text lists them.
    package static let allCases: [TokenFault] = [
        TokenFault(
            name: "cancel-looks-like-not-found", explanation: "a cancelled prompt looks like a missing key",
            changes: Changes(error: { $0.hidingCancellation })),
        TokenFault(
            name: "decrypt-without-error", explanation: "a failed decryption returns no error",
            changes: Changes(error: { $0.hidingDecryption })),
        TokenFault(
            name: "stale-configuration",
            explanation: "the list contains tokens that the provider does not have",
            changes: Changes(refusal: { use, _ in .notRegistered(use.objectID) })),
        TokenFault(
            name: "foreground-timeout",
            explanation: "the provider's app was not opened for a day, so key uses fail",
            changes: Changes(refusal: { _, _ in
                TokenError(
                    .authenticationNeeded, "the provider's app was not opened for 24 hours",
                    obstacle: .foregroundTimeout)
            })),
        TokenFault(
            name: "certificate-without-key", explanation: "certificates are listed, but no token has a key",
            changes: Changes(
                hidesKeys: true, refusal: { use, token in try token.errorWithoutKey(use.objectID) })),
        TokenFault(
            name: "key-of-another-certificate", explanation: "each token uses the next token's key",
            changes: Changes(keyOwner: { label, snapshot in snapshot.next(after: label) })),
        TokenFault(
            name: "wrong-signature", explanation: "one bit of each signature is wrong",
            changes: Changes(result: { result, use in
                guard use.operation == .sign else { return result }
                var signature = result.withTransientArray { Array($0) }
                if let last = signature.indices.last { signature[last] ^= 1 }
                return SecretBytes(signature)
            })),
        TokenFault(
            name: "slow", explanation: "each key use is delayed by a second",
            changes: Changes(delay: .seconds(1))),
    ]
}

extension TokenFault: RawRepresentable, Hashable, Codable {
    /// Creates the fault with a name; nil if no fault has this name.
    package init?(rawValue: String) {
        guard let fault = Self.allCases.first(where: { $0.name == rawValue }) else { return nil }
        self = fault
    }

    /// The fault's name, which also represents it in messages of the web page.
    package var rawValue: String { name }

    /// Compares names, which are unique.
    package static func == (left: TokenFault, right: TokenFault) -> Bool { left.name == right.name }

    /// Hashes the name.
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension TokenError {
    /// The error for an object without a registration.
    static func notRegistered(_ objectID: String) -> TokenError {
        TokenError(.objectNotFound, "no token has the object \(objectID)", obstacle: .notRegistered)
    }

    /// This error as the sample's extension reports it. If the user did not consent, the extension reports a missing
    /// key.
    var hidingCancellation: TokenError {
        switch obstacle {
        case .userDenied, .userCanceled, .userTimedOut: keyNotFound
        default: self
        }
    }

    /// This error as the sample's extension reports it. If the data could not be decrypted, the extension returns nil
    /// without an error, and the system reports a communication error.
    var hidingDecryption: TokenError {
        guard obstacle == .undecryptable else { return self }
        return TokenError(.communicationError, "the token returned no result", obstacle: .undecryptable)
    }

    /// This error with all deviations of the sample's extension: a locked device or a missing consent looks like a
    /// missing key, and a failed decryption looks like a communication error.
    var likeTheSample: TokenError {
        obstacle == .deviceLocked ? keyNotFound : hidingCancellation.hidingDecryption
    }

    private var keyNotFound: TokenError {
        TokenError(.objectNotFound, "the token cannot find its key", obstacle: obstacle)
    }
}
