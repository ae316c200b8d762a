internal import PrivateFiles
package import Diagnostics

/// Why the pasteboard could not be read or written.
package struct PasteboardError: Failure {
    package static let domain = FailureDomain.pasteboard

    /// The kinds of failure.
    package enum Code: Sendable, Hashable {
        /// The user did not agree.
        case denied
        /// The user could not be asked.
        case consentFailed
        /// The item has expired, and no other took its place.
        case expired
        /// Another item took the place of the one that was meant; the current change count.
        case overwritten(Int)
        /// The system keeps programs of this kind from the pasteboard.
        case notPermitted(App.Kind)
        /// The item is larger than ``Pasteboard/largestItem``.
        case tooLarge
        /// The item or its files were altered, and do not open.
        case damaged
        /// A file could not be made, read or written.
        case inputOutput
    }

    /// The kind of failure.
    package let code: Code
    /// One sentence about what happened, in lower case, without a full stop and without any item's contents.
    package let reason: String
    /// The error underneath, such as a `FileError`; nil where the pasteboard itself refused.
    package let cause: (any Error)?

    init(_ code: Code, _ reason: String, cause: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.cause = cause
    }

    /// Translates an error of a file, a key or a decoder.
    init(_ error: any Error) {
        switch error {
        case let error as PasteboardError: self = error
        case let error as FileError: self.init(.inputOutput, error.reason, cause: error)
        default: self.init(.damaged, "the pasteboard's files were altered: \(error)", cause: error)
        }
    }
}
