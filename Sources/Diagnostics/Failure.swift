/// An error with a code for programs and a sentence for people.
///
/// Every module throws errors of this form. Callers branch on `code`, people read `reason`, and `cause` leads to the
/// underlying error. The wording may change at any time and is never compared. Two failures of one type are equal if
/// their codes are equal, so a test needs only one line:
///
///     #expect(throws: CertificateError(.malformed, "")) { try Certificate(der: []) }
///
/// `CommandSupport/ReportableFailure` defines the exit code and the hint of each failure.
package protocol Failure: Error, Equatable, CustomStringConvertible {
    /// The kinds of failure that the module distinguishes.
    associatedtype Code: Hashable & Sendable

    /// The kind of failure; callers branch on it.
    var code: Code { get }
    /// One sentence that describes what happened, in lower case and without a full stop. It contains no secret. It
    /// names no command and no option, because only the commands know how to resolve a failure.
    var reason: String { get }
    /// The underlying error that led to this failure; nil if there is none.
    var cause: (any Error)? { get }
}

extension Failure {
    /// Compares only the codes.
    package static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// Nil: most failures have no underlying error.
    package var cause: (any Error)? { nil }

    /// The reason, so that string interpolation prints it.
    package var description: String { reason }
}
