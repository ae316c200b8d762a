internal import Diagnostics
package import KeyShareProtocol

/// The provider's reply to a request that it could not carry out. It is sent as the failure reply.
package struct ProviderFailure: Failure {
    /// The kind of failure and its number on the wire.
    package typealias Code = FailureCode

    /// The kind of failure.
    package let code: Code
    /// One sentence for the user, sent as the failure message. It contains no secret and is truncated to 512 characters
    /// on the wire.
    package let reason: String

    /// Creates a failure with a sentence for the user.
    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
