/// Why an identifier or a list of declarations cannot be used; equal by code.
package struct UniformTypeError: Error, Equatable, Sendable {
    /// What kind of complaint it is.
    package enum Code: Equatable, Sendable {
        /// Nobody declares it.
        case unknown
        /// An old spelling with `_`; the one to use stands beside it.
        case deprecated(use: String)
        /// A property list that holds no type declarations, or contradictory ones.
        case malformedDeclarations
    }

    package let code: Code
    /// A sentence for a human.
    package let reason: String

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    package static func == (left: UniformTypeError, right: UniformTypeError) -> Bool {
        left.code == right.code
    }
}
