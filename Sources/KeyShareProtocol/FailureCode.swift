/// The kinds of failure that a provider reports, with their numbers on the wire. The meaning of a number never changes.
package enum FailureCode: UInt16, Sendable, Hashable, CaseIterable {
    /// The bytes are not a message, or the message is not allowed at this point. The connection closes.
    case malformed = 1
    /// The two sides have no protocol version in common. The connection closes.
    case unsupportedVersion = 2
    /// The provider does not recognize the type of the request. The connection remains open.
    case unknownRequest = 3
    /// The item or service does not exist, or was not granted to this connection. The two cases cannot be distinguished
    /// (docs/rules.md R6.8).
    case notAvailable = 4
    /// A limit was reached; the reason names it.
    case refused = 5
    /// A request of one mechanism was sent to a provider of the other, or it names types of both.
    case mixedMechanisms = 6
    /// An argument is invalid, such as an unknown type or a deprecated spelling.
    case usage = 7
    /// The request was valid, but the provider could not carry it out.
    case serviceFailed = 8
    /// The provider has no capacity at the moment. A later request may succeed.
    case serverBusy = 9
    /// A bug in the provider.
    case internalError = 10
}
