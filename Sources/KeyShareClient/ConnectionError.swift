package import KeyShareWire
internal import KeySharing

/// Why a consumer's request brought no answer, or a failure for one. Equal by code.
package struct ConnectionError: Error, Sendable {
    package enum Code: Sendable, Hashable {
        /// Nothing listens at the socket's path.
        case notRunning
        /// Whoever listens runs under another user id, or the kernel would not say.
        case wrongOwner
        /// The provider speaks no version of the protocol that this consumer knows.
        case unsupportedVersion
        /// The connection ended before the answer came.
        case closed
        /// The answer did not come in time.
        case timedOut
        /// The socket's path is empty or past the 107 bytes that an address holds.
        case pathTooLong
        /// The provider sent what it must not; the connection is closed.
        case malformedReply
        /// The content is greater than the caller permits.
        case contentTooLarge
        /// The system refused for another reason.
        case system
        /// The provider answered with this failure.
        case provider(ProviderFailure.Code)
    }

    package let code: Code
    /// What happened, in one sentence; the provider's own words for a failure of its.
    package let reason: String

    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// The error that a provider's failure is to a consumer.
    package init(_ failure: ProviderFailure) {
        self.init(
            failure.code == .unsupportedVersion ? .unsupportedVersion : .provider(failure.code),
            failure.message)
    }

    /// The provider's failure, where it answered with one.
    package var failure: ProviderFailure? {
        if case .provider(let code) = code { ProviderFailure(code, reason) } else { nil }
    }
}

extension ConnectionError: Hashable {
    package static func == (left: ConnectionError, right: ConnectionError) -> Bool {
        left.code == right.code
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension ConnectionError: CustomStringConvertible {
    package var description: String { reason }
}
