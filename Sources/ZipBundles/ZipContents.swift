/// The contents of an archive.
package struct ZipContents: Sendable {
    /// A file of the archive.
    package struct Entry: Sendable {
        /// The name: one path component that obeys every `ZipError.NameRule`.
        package let name: String
        /// The file's bytes, or the error for which this file alone was refused.
        package let result: Result<[UInt8], ZipError>
    }

    /// An entry that was not read.
    package struct Skipped: Hashable, Sendable {
        /// The reason why an entry was not read.
        package enum Reason: Hashable, Sendable {
            /// The entry is a folder.
            case folder
            /// The entry lies in `__MACOSX`, where macOS keeps attributes of the other entries.
            case macOSAttributes
        }

        /// The name as the archive has it. It may have several components and must not be used as a path.
        package let name: String
        /// The reason why the entry was not read.
        package let reason: Reason
    }

    /// The files, in the archive's order.
    package let entries: [Entry]
    /// The entries that were not read, in the archive's order.
    package let skipped: [Skipped]
}
