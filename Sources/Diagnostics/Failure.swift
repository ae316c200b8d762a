/// An error with a code to act on and a sentence for people.
///
/// Every module throws errors of this shape. A caller branches on `code`; a person is shown `reason`; who looks for a
/// defect follows `cause`. The texts may change at any time and are never compared. Two failures of one type are equal
/// if their codes are, so that a test needs one line:
///
///     #expect(throws: CertificateError(.malformed, "")) { try Certificate(der: []) }
///
/// Which exit code and which hint belong to a failure is written in `CommandSupport/FailureMapping.swift`.
package protocol Failure: Error, Equatable, CustomStringConvertible {
    /// The kinds of failure that the module tells apart.
    associatedtype Code: Hashable & Sendable

    /// The domain that stands for this type of error, and for no other.
    static var domain: FailureDomain { get }
    /// The kind of failure; callers branch on it.
    var code: Code { get }
    /// One sentence about what happened, in lower case and without a full stop. It holds no secret, and names neither a
    /// command nor an option, because only the commands know what to do about a failure.
    var reason: String { get }
    /// The error underneath, where this failure only passes another on.
    var cause: (any Error)? { get }
}

extension Failure {
    /// Whether the codes are equal.
    package static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// Nil, for failures that pass no other error on.
    package var cause: (any Error)? { nil }

    /// The reason, so that interpolation prints it.
    package var description: String { reason }
}
