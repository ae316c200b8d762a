/// An error of this module: a code to act on, and words for a human. Equal by code; everything else may differ.
package protocol CodedError: Error, Equatable, CustomStringConvertible {
    /// What can go wrong.
    associatedtype Code: Hashable & Sendable

    /// What went wrong.
    var code: Code { get }
    /// The same in words for a human, without a full stop.
    var reason: String { get }
}

extension CodedError {
    /// Equal by code.
    package static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// The reason.
    package var description: String { reason }
}
