/// Why a consumer cannot pick or import; equal by code.
package struct ConsumerError: Error, Equatable, Sendable {
    /// What kind of obstacle it is.
    package enum Code: String, Sendable, Hashable {
        /// The keychain holds no identity of this label.
        case noSuchIdentity = "no-such-identity"
        /// Several identities have labels that start so.
        case ambiguousLabel = "ambiguous-label"
        /// The item's type was not asked for.
        case itemDisabled = "item-disabled"
        /// The item is a folder, and has no bytes of its own.
        case isFolder = "is-folder"
        /// The item has no password service of the right name.
        case noPasswordService = "no-password-service"
        /// The password service answered, with nothing.
        case emptyAnswer = "empty-answer"
        /// The password service's answer does not open the item.
        case servicePassword = "wrong-password"
        /// Neither the pasteboard nor the user gives a password.
        case noPassword = "no-password"
        /// What is on the pasteboard is not the file's password.
        case pasteboardHoldsOther = "pasteboard-holds-other"
        /// The archive opened, and there is nothing in it to import.
        case nothingToImport = "nothing-to-import"
    }

    package let code: Code
    /// What happened, as a phrase.
    package let reason: String
    /// What to do about it; nil where nothing can be advised.
    package let hint: String?

    package init(_ code: Code, _ reason: String, hint: String? = nil) {
        self.code = code
        self.reason = reason
        self.hint = hint
    }

    package static func == (left: ConsumerError, right: ConsumerError) -> Bool {
        left.code == right.code
    }
}
