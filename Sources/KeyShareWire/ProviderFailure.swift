package import Diagnostics

/// A provider's answer to a request that it did not carry out; it travels as the failure reply.
package struct ProviderFailure: Failure {
    package static let domain = FailureDomain.provider

    /// The kind of failure, by its number on the wire. A number keeps its meaning for good.
    package enum Code: UInt16, Sendable, Hashable, CaseIterable {
        /// The bytes are no message, or a message that may not come here; the connection closes.
        case malformed = 1
        /// The two sides have no version of the protocol in common; the connection closes.
        case unsupportedVersion = 2
        /// The provider does not know the type of the request; the connection stays.
        case unknownRequest = 3
        /// There is no such item or service, or it was not granted to this connection: these look alike
        /// (docs/rules.md R6.8).
        case notAvailable = 4
        /// A limit was reached; the reason names it.
        case refused = 5
        /// Something of one mechanism was asked of the other, or types of both were mixed.
        case mixedMechanisms = 6
        /// An argument makes no sense, such as an unknown type or a deprecated spelling.
        case usage = 7
        /// The request was in order, and the provider could not carry it out.
        case serviceFailed = 8
        /// The provider has no room now; a later request may succeed.
        case serverBusy = 9
        /// A defect of the provider.
        case internalError = 10
    }

    /// The kind of failure.
    package let code: Code
    /// One sentence for people, sent as the message of the failure: no secret, at most 512 characters on the wire.
    package let reason: String

    /// Makes a failure of this kind with a sentence for people.
    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
