/// An import that cannot go on for want of a password or of contents.
package struct ImportError: Failure {
    package static let domain = FailureDomain.import

    /// The obstacles to an import; the raw values are stable codes for scripts.
    package enum Code: String, Sendable, Hashable {
        /// The item has no password service of the name that key sharing has (docs/rules.md R6.3).
        case noPasswordService = "no-password-service"
        /// The password service answered with nothing, and the item is under a password (docs/rules.md
        /// R6.12).
        case emptyAnswer = "empty-answer"
        /// The password of the password service does not open the item (docs/rules.md R6.12).
        case servicePassword = "wrong-password"
        /// Neither the pasteboard nor the user gives a password.
        case noPassword = "no-password"
        /// The text on the pasteboard is not the password of the file (docs/rules.md R4.18).
        case pasteboardHoldsOther = "pasteboard-holds-other"
        /// The archive opened, and holds nothing to import (docs/rules.md R7.5).
        case nothingToImport = "nothing-to-import"
    }

    /// The kind of obstacle.
    package let code: Code
    /// What happened, as one phrase without a full stop.
    package let reason: String

    /// Makes an error.
    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
