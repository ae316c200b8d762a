/// The error of an import that fails because the password is missing or wrong, or because there is nothing to import.
package struct ImportError: Error, Equatable, Sendable {
    /// The kinds of failure; the raw values are stable codes for scripts.
    package enum Code: String, Sendable, Hashable {
        /// The item has no password service with the key-sharing name (docs/rules.md R6.3).
        case noPasswordService = "no-password-service"
        /// The password service returned nothing, but the item is protected by a password (docs/rules.md R6.12).
        case emptyAnswer = "empty-answer"
        /// The password of the password service does not open the item (docs/rules.md R6.12).
        case servicePassword = "wrong-password"
        /// Neither the pasteboard nor the user provided a password.
        case noPassword = "no-password"
        /// The text on the pasteboard is not the password of the file (docs/rules.md R4.18).
        case pasteboardHoldsOther = "pasteboard-holds-other"
        /// The archive was opened but contains nothing to import (docs/rules.md R7.5).
        case nothingToImport = "nothing-to-import"
    }

    /// The kind of failure.
    package let code: Code
    /// The message, as one phrase without a full stop.
    package let reason: String

    /// Creates an error.
    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// Compares only the codes.
    package static func == (left: ImportError, right: ImportError) -> Bool { left.code == right.code }
}
