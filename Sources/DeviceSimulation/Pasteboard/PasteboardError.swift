internal import PrivateFiles
internal import Diagnostics
/// Why the pasteboard was not read or written.
package struct PasteboardError: Failure {
    /// What went wrong.
    package enum Code: Sendable, Hashable {
        /// The user did not agree.
        case denied
        /// The user could not be asked.
        case consentFailed
        /// The item's time is over, and no other took its place.
        case expired
        /// There is another item than the one that was meant; the change count as it is now.
        case overwritten(Int)
        /// The system keeps extensions of this kind from the pasteboard.
        case notPermitted(App.Kind)
        /// The item has more bytes than the pasteboard takes.
        case tooLarge
        /// The item or its files were altered, and do not open.
        case damaged
        /// A file could not be made, read or written.
        case inputOutput
    }

    /// What went wrong.
    package let code: Code
    /// The same in words for a human, without a full stop and without any item's contents.
    package let reason: String
    /// What caused it, where something else did.
    package let cause: (any Error)?

    init(_ code: Code, _ reason: String, cause: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.cause = cause
    }

    /// What `error`, from below, means for a pasteboard.
    init(_ error: any Error) {
        switch error {
        case let error as PasteboardError: self = error
        case let error as FileError: self.init(.inputOutput, error.reason, cause: error)
        default: self.init(.damaged, "the pasteboard's files were altered: \(error)", cause: error)
        }
    }
}
