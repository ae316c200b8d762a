internal import Diagnostics

/// The reason why test credentials, a profile or a scenario cannot be provisioned.
package struct ProvisioningError: Failure {
    /// The kind of failure; the raw value is the stable name that commands print.
    package enum Code: String, Sendable, CaseIterable {
        case noSuchProfile = "no-such-profile"
        case typeNotInProfile = "type-not-in-profile"
        case dateOutOfRange = "date-out-of-range"
        case malformedPerson = "malformed-person"
        case nothingToRenew = "nothing-to-renew"
        case noSuchScenario = "no-such-scenario"
        case malformedScenario = "malformed-scenario"
        case noSuchFault = "no-such-fault"
        /// The test vector is a file that cannot be stored in a keychain.
        case faultNeedsFile = "fault-needs-file"
        /// The test vector is a file, but a token-only identity was requested. Token-only identities are never in
        /// files.
        case faultOfFile = "fault-of-file"
        /// None of the keychain's authorities can add the certificate to its revocation list.
        case notRevocable = "not-revocable"
    }

    /// A hint for correcting the request. The commands convert it to a sentence.
    package enum Remedy: Sendable, Hashable {
        /// The intended spelling of a misspelled name.
        case nearestName(String)
        /// All keys that are valid in a mapping. `nearest` is the one that a misspelled key probably means.
        case keys(nearest: String?, all: [String])
        /// The test vector does not fit into a scenario, but can be written to a file.
        case fileOfTestVector(String)
        /// The generations would fit if the interval between them were shorter.
        case shorterInterval
        /// The certificate would be valid if it started earlier, or ended later.
        case earlierStart
    }

    /// The kind of failure.
    package let code: Code
    /// One sentence about the failure. It starts with the position after `located(in:as:)` was called.
    package let reason: String
    /// The position of the problem in the text; nil if no text was parsed.
    package let position: SourcePosition?
    /// The remedy; nil if the reason is sufficient.
    package let remedy: Remedy?

    /// Creates an error without a position.
    package init(_ code: Code, _ reason: String, remedy: Remedy? = nil) {
        self.init(code, reason, position: nil, remedy: remedy)
    }

    /// Creates a `malformedScenario` error about the text at `position`.
    ///
    /// The caller of the parser adds the name of the text, and possibly another code, with `located(in:as:)`.
    package init(_ position: SourcePosition, _ reason: String, remedy: Remedy? = nil) {
        self.init(.malformedScenario, reason, position: position, remedy: remedy)
    }

    private init(_ code: Code, _ reason: String, position: SourcePosition?, remedy: Remedy?) {
        self.code = code
        self.reason = reason
        self.position = position
        self.remedy = remedy
    }

    /// Returns this error with the name of the text and the position in front of the reason: `FILE:LINE:COLUMN:
    /// reason`. An error without a position is returned unchanged.
    ///
    /// - Parameters:
    ///   - source: The name of the file, or a substitute for it.
    ///   - code: The code for problems in this kind of text.
    package func located(in source: String, as code: Code) -> ProvisioningError {
        guard let position else { return self }
        return ProvisioningError(
            code, "\(source):\(position.line):\(position.column): \(reason)", position: position,
            remedy: remedy)
    }
}

/// A position in a file. Lines and columns are counted from 1, columns in Unicode scalars.
package struct SourcePosition: Sendable, Hashable {
    /// The line number.
    package let line: Int
    /// The number of the Unicode scalar in its line.
    package let column: Int

    /// Creates a position.
    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    /// The position of the first character.
    package static let start = SourcePosition(line: 1, column: 1)
}
