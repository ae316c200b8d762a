/// Why an identifier or a list of declarations cannot be used; equal by code.
public struct UniformTypeError: Error, Equatable, Sendable {
    /// What kind of complaint it is.
    public enum Code: Equatable, Sendable {
        /// Nobody declares it.
        case unknown
        /// An old spelling with `_`; the one to use stands beside it.
        case deprecated(use: String)
        /// A property list that holds no type declarations, or contradictory ones.
        case malformedDeclarations
    }

    public let code: Code
    /// A sentence for a human.
    public let reason: String

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public static func == (left: UniformTypeError, right: UniformTypeError) -> Bool {
        left.code == right.code
    }
}
