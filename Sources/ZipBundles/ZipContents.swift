/// The contents of an archive.
package struct ZipContents: Sendable {
    /// A file of the archive.
    package struct Entry: Sendable {
        /// The file's name: one path component that complies with every `ZipError.NameRule`.
        package let name: String
        /// Whether an earlier entry has the same name, ignoring letter case and Unicode normalization.
        package let repeatsName: Bool
        /// The file's bytes, or the error if this file was rejected.
        package let result: Result<[UInt8], ZipError>
    }

    /// An entry that was not read.
    package struct Skipped: Hashable, Sendable {
        /// The reason why an entry was not read.
        package enum Reason: Hashable, Sendable {
            /// The entry is a folder.
            case folder
            /// The entry is in `__MACOSX`, where macOS stores attributes of the other entries.
            case macOSAttributes
        }

        /// The name in the archive. It may have several components and must not be used as a path.
        package let name: String
        /// The reason why the entry was not read.
        package let reason: Reason
    }

    /// The files, in the archive's order.
    package let entries: [Entry]
    /// The entries that were not read, in the archive's order.
    package let skipped: [Skipped]
}
