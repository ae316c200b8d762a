/// Why an archive, or one entry of it, was refused or could not be made.
///
/// Equal by code.
package struct ZipError: Error, Sendable {
    /// What went wrong, with the limit or the name it is about.
    package enum Code: Hashable, Sendable {
        // About the archive as a whole.

        /// More bytes than `limit`.
        case archiveTooLarge(limit: Int)
        /// More entries than `limit`.
        case tooManyEntries(limit: Int)
        /// No zip archive at all.
        case notAnArchive
        /// A zip archive whose headers contradict each other, or whose end is missing.
        case damagedArchive
        /// A name that breaks `rule`; control characters in it are escaped.
        case unsafeName(String, rule: NameRule)
        /// A name that another entry has too, letter case and Unicode normalisation aside.
        case duplicateName(String)
        /// Entries that claim more bytes together than the archive has, so that some share them.
        case overlappingEntries
        /// The archive could not be written, for lack of memory.
        case creationFailed

        // About one entry.

        /// The entry holds, or says that it holds, more bytes than `limit`.
        case entryTooLarge(limit: Int)
        /// This entry and those before it hold more bytes than `limit`.
        case contentsTooLarge(limit: Int)
        /// The entry expands to more than `limit` times its compressed size.
        case excessiveRatio(limit: Int)
        /// The entry does not hold the number of bytes that its header declares.
        case sizeMismatch(declared: Int)
        /// The entry is encrypted.
        case encryptedEntry
        /// The entry is a symbolic link, a device or another thing that is no file.
        case notAFile
        /// The entry is compressed by a method other than "stored" and "deflated".
        case unsupportedMethod(Int)
        /// The entry's data do not expand, or do not match their checksum.
        case damagedEntry
    }

    /// A rule for names, in the order in which they are tried.
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

    /// What went wrong.
    package let code: Code
    /// The same in words for a human, without a full stop.
    package let reason: String

    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}

extension ZipError: Equatable {
    /// Equal by code; the words may differ.
    package static func == (left: ZipError, right: ZipError) -> Bool { left.code == right.code }
}

extension ZipError: CustomStringConvertible {
    /// The reason.
    package var description: String { reason }
}
