/// How much of an archive is looked at; all sizes in bytes.
package struct ZipLimits: Hashable, Sendable {
    /// The archive itself.
    package var archiveSize = 64 << 20
    /// The number of entries, skipped ones included.
    package var entryCount = 4_096
    /// One entry's contents, counted as they are read.
    package var entrySize = 1 << 20
    /// All entries' contents together, counted as they are read.
    package var contentsSize = 64 << 20
    /// How many times its compressed size an entry may expand to.
    package var ratio = 25
    /// The size up to which an entry may expand at any ratio.
    package var ratioFreeSize = 64 << 10
    /// One entry's name.
    package var nameLength = 255

    /// The limits for archives from anywhere.
    package static let standard = ZipLimits()

    /// Every limit has the value that suits archives from anywhere.
    package init() {}
}

/// What an archive holds.
package struct ZipContents: Sendable {
    /// A file of the archive.
    package struct Entry: Sendable {
        /// One safe path component, as `ZipError.NameRule` asks.
        package let name: String
        /// The file's bytes, or why they were refused; that one file's refusal does not touch the others.
        package let result: Result<[UInt8], ZipError>
    }

    /// An entry that is not looked into.
    package struct Skipped: Hashable, Sendable {
        /// Why an entry is not looked into.
        package enum Reason: Hashable, Sendable {
            /// It is a folder.
            case folder
            /// It lies in `__MACOSX`, where macOS keeps attributes of the other entries.
            case macOSAttributes
        }

        /// The name as the archive has it, several components included. Not a path to use.
        package let name: String
        /// Why it was skipped.
        package let reason: Reason
    }

    /// The files, in the archive's order.
    package let entries: [Entry]
    /// What was passed over, in the archive's order.
    package let skipped: [Skipped]
}
