internal import Diagnostics

/// An error in reading or writing an archive or one of its entries. Two errors are equal if their codes are.
package struct ZipError: Failure {
    /// The kinds of failure, with the exceeded limit or the invalid name (docs/rules.md R7.14 to R7.16).
    package enum Code: Hashable, Sendable {
        // Errors of the archive as a whole.

        /// The archive has more bytes than `limit`.
        case archiveTooLarge(limit: Int)
        /// The archive has more entries than `limit`.
        case tooManyEntries(limit: Int)
        /// The bytes are not a zip archive.
        case notAnArchive
        /// The headers of the archive contradict each other, or the end of the archive is missing.
        case damagedArchive
        /// An entry's name violates `rule`. Control characters in the name are escaped.
        case unsafeName(String, rule: NameRule)
        /// Two entries of an archive to write have this name, ignoring letter case and Unicode normalization.
        case duplicateName(String)
        /// The declared sizes of the entries exceed the size of the archive, so some entries share bytes.
        case overlappingEntries
        /// The archive could not be written because memory ran out or libzip rejected a name.
        case creationFailed

        // Errors of one entry.

        /// The entry contains more than `limit` bytes, or its header declares more.
        case entryTooLarge(limit: Int)
        /// This entry and the previous ones contain more than `limit` bytes in total.
        case contentsTooLarge(limit: Int)
        /// The entry decompresses to more than `limit` times its compressed size.
        case excessiveRatio(limit: Int)
        /// The entry does not contain the number of bytes that its header declares.
        case sizeMismatch(declared: Int)
        /// The entry is encrypted.
        case encryptedEntry
        /// The entry is a symbolic link, a device or another object that is not a regular file.
        case notAFile
        /// The entry is compressed with the method of this number, which is neither "stored" nor "deflated".
        case unsupportedMethod(Int)
        /// The entry's data cannot be decompressed, or does not match its checksum.
        case damagedEntry
    }

    /// The rules for names, in the order of the checks (docs/rules.md R7.15).
    package enum NameRule: String, Hashable, Sendable, CaseIterable {
        /// Names are not empty.
        case empty
        /// Names are UTF-8.
        case encoding
        /// Names contain no NUL.
        case nul
        /// Names contain no character that can control a terminal: no control character, line separator, or mark that
        /// changes the direction of writing.
        case control
        /// Names are at most `ZipLimits.nameLength` bytes long.
        case length
        /// Names are one component: no slash and no backslash.
        case component
        /// Names contain no colon, which denotes drives and streams.
        case colon
        /// A name must not be "." or "..".
        case dots
        /// Names end in ".p12" or ".pfx", in any letter case.
        case suffix
    }

    /// The kind of failure.
    package let code: Code
    /// A readable sentence about the failure. Names in it are safe to print.
    package let reason: String

    /// Creates an error.
    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
