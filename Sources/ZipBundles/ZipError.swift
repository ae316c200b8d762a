package import Diagnostics

/// The error of reading or making an archive or one entry of it. Two errors are equal when their codes are.
package struct ZipError: Failure {
    package static let domain = FailureDomain.zip

    /// The kinds of failure, with the limit or the name that each is about (docs/rules.md R7.14 to R7.16).
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
        /// An entry's name breaks `rule`; the name is given with control characters escaped.
        case unsafeName(String, rule: NameRule)
        /// Two entries have this name, apart from letter case and Unicode normalisation.
        case duplicateName(String)
        /// The entries state more bytes together than the archive has, so that some of them share bytes.
        case overlappingEntries
        /// The archive could not be written, because memory ran out or libzip refused a name.
        case creationFailed

        // Errors of one entry.

        /// The entry holds more bytes than `limit`, or its header states so.
        case entryTooLarge(limit: Int)
        /// This entry and those before it hold more bytes than `limit`.
        case contentsTooLarge(limit: Int)
        /// The entry expands to more than `limit` times its compressed size.
        case excessiveRatio(limit: Int)
        /// The entry does not hold the number of bytes that its header declares.
        case sizeMismatch(declared: Int)
        /// The entry is encrypted.
        case encryptedEntry
        /// The entry is a symbolic link, a device or something else that is not a plain file.
        case notAFile
        /// The entry is compressed by a method other than "stored" and "deflated", which has this number.
        case unsupportedMethod(Int)
        /// The entry's data cannot be expanded, or do not match their checksum.
        case damagedEntry
    }

    /// The rules for names, in the order in which they are checked (docs/rules.md R7.15).
    package enum NameRule: String, Hashable, Sendable, CaseIterable {
        /// Names are not empty.
        case empty
        /// Names are UTF-8.
        case encoding
        /// Names hold no NUL.
        case nul
        /// Names hold no character that may steer a terminal: no control character, no line separator, no mark that
        /// turns the direction of writing.
        case control
        /// Names are at most `ZipLimits.nameLength` bytes long.
        case length
        /// Names are one component: no slash and no backslash.
        case component
        /// Names hold no colon, which makes drives and streams.
        case colon
        /// Names are neither "." nor "..".
        case dots
        /// Names end in ".p12" or ".pfx", in any letter case.
        case suffix
    }

    /// The kind of failure.
    package let code: Code
    /// What happened, in a sentence for people; names in it are safe to print.
    package let reason: String

    /// Describes a failure.
    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
