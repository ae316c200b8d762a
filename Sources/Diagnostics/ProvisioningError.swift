/// The reason why something cannot be provisioned.
package struct ProvisioningError: Failure {
    package static let domain = FailureDomain.provisioning

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
        /// The test vector is a file that no keychain can hold.
        case faultNeedsFile = "fault-needs-file"
        /// The test vector is a file, and was to be a token alone, which is never in one.
        case faultOfFile = "fault-of-file"
        /// No authority of the keychain can put the certificate on its revocation list.
        case notRevocable = "not-revocable"
    }

    /// A fact that helps to mend the request; the commands put it into words.
    package enum Remedy: Sendable, Hashable {
        /// A misspelt name was probably meant to be this one.
        case nearestName(String)
        /// A mapping has these keys only; a misspelt one was probably meant to be `nearest`.
        case keys(nearest: String?, all: [String])
        /// A scenario cannot hold this test vector, and a file can.
        case fileOfTestVector(String)
        /// The generations would fit with a shorter interval between them.
        case shorterInterval
    }

    /// The kind of failure.
    package let code: Code
    /// One sentence about what happened; in front of it the place in the text where one was read.
    package let reason: String
    /// Where in a text the problem is; nil where no text was read.
    package let position: SourcePosition?
    /// What helps; nil where the reason says everything.
    package let remedy: Remedy?

    /// An error of anything but a text.
    package init(_ code: Code, _ reason: String, remedy: Remedy? = nil) {
        self.init(code, reason, position: nil, remedy: remedy)
    }

    /// A problem of a text: what is at `position` and what was expected there.
    ///
    /// Readers of parts throw it as a malformed scenario; `located(in:as:)` says later which text it is.
    package init(_ position: SourcePosition, _ reason: String, remedy: Remedy? = nil) {
        self.init(.malformedScenario, reason, position: position, remedy: remedy)
    }

    private init(_ code: Code, _ reason: String, position: SourcePosition?, remedy: Remedy?) {
        self.code = code
        self.reason = reason
        self.position = position
        self.remedy = remedy
    }

    /// The problem with the text's name in front of the reason: `FILE:LINE:COLUMN: reason`.
    ///
    /// - Parameters:
    ///   - source: the name of the file, or what stands for one.
    ///   - code: the code of a problem in this kind of text.
    package func located(in source: String, as code: Code) -> ProvisioningError {
        guard let position else { return self }
        return ProvisioningError(
            code, "\(source):\(position.line):\(position.column): \(reason)", position: position,
            remedy: remedy)
    }
}

/// A place in a text, counted from one; columns are counted in Unicode scalars.
package struct SourcePosition: Sendable, Hashable {
    /// The number of the line.
    package let line: Int
    /// The number of the character in the line.
    package let column: Int

    /// Names a place by its numbers.
    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    /// The first character of a text.
    package static let start = SourcePosition(line: 1, column: 1)
}
