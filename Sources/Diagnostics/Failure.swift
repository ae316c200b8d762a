/// An error with a code to act on and a sentence for people.
///
/// Every module throws errors of this one shape, so that a caller asks for `code`, a test compares with one line,
/// and the commands find an exit code and a hint for each (`CommandSupport/FailureMapping.swift`). Two failures of
/// one type are equal when their codes are: the sentence, the cause and further properties may differ.
package protocol Failure: Error, Equatable, CustomStringConvertible {
    /// The kinds of failure that the module tells apart.
    associatedtype Code: Hashable & Sendable

    /// The kind of failure; callers branch on it.
    var code: Code { get }
    /// One sentence about what happened, in lower case and without a full stop. It holds no secret and names no
    /// command and no option: what to do about a failure is the commands' to say.
    var reason: String { get }
    /// The error underneath, where this failure only passes another on.
    var cause: (any Error)? { get }
}

extension Failure {
    /// Compares codes alone.
    package static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// No error underneath.
    package var cause: (any Error)? { nil }

    /// The reason: what interpolation prints.
    package var description: String { reason }
}
