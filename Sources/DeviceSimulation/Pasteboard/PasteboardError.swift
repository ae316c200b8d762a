internal import Diagnostics
internal import PrivateFiles
package import SimulatedKeychain

/// The reason why the pasteboard could not be read or written.
package struct PasteboardError: Failure {
    /// The kinds of failure.
    package enum Code: Sendable, Hashable {
        /// The user did not allow the app to read the item.
        case denied
        /// The consent prompt could not be shown.
        case consentFailed
        /// The item has expired, and no other item has replaced it.
        case expired
        /// Another item has replaced the expected one. The value is the current change count.
        case overwritten(Int)
        /// The system does not allow programs of this kind to use the pasteboard.
        case notPermitted(App.Kind)
        /// The item is larger than ``Pasteboard/largestItem``.
        case tooLarge
        /// The item or its files were altered, and cannot be decrypted.
        case damaged
        /// A file could not be created, read or written.
        case inputOutput
    }

    /// The kind of failure.
    package let code: Code
    /// One sentence about the failure, in lower case, without a full stop and without any item's contents.
    package let reason: String
    /// The underlying error, such as a `FileError`; nil if the pasteboard itself rejected the operation.
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
