/// Why the provider did not do what a request asked; travels as the error reply.
///
/// Equal by code: the message is for people, and never holds a secret.
package struct ProviderFailure: Error, Sendable {
    /// The reason, by its number on the wire. A number keeps its meaning for good.
    package enum Code: UInt16, Sendable, Hashable, CaseIterable {
        /// The bytes are no message, or no message that belongs here; the connection closes.
        case malformed = 1
        /// No version of the protocol is spoken by both; the connection closes.
        case unsupportedVersion = 2
        /// The type of the request is not known; the connection stays.
        case unknownRequest = 3
        /// There is no such item or service, or it was not granted to this connection: these look alike.
        case notAvailable = 4
        /// A limit stands against it, and the message says which.
        case refused = 5
        /// What belongs to one mechanism was asked of the other, or the types of both were mixed.
        case mixedMechanisms = 6
        /// An argument makes no sense, such as an unknown type or a deprecated spelling.
        case usage = 7
        /// The provider could not do it, although the request was in order.
        case serviceFailed = 8
        /// The provider has no room for more now; asking later may succeed.
        case serverBusy = 9
        /// A defect of the provider.
        case internalError = 10
    }

    package let code: Code
    /// What happened, in one sentence for people; no secret, at most a few hundred bytes.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ProviderFailure: Hashable {
    package static func == (left: ProviderFailure, right: ProviderFailure) -> Bool {
        left.code == right.code
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(code)
    }
}

extension ProviderFailure: CustomStringConvertible {
    /// The message alone: the code is for programs.
    package var description: String { message }
}
