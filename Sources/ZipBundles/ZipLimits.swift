/// The limits for reading an archive (docs/rules.md R7.14). Sizes are in bytes.
package struct ZipLimits: Hashable, Sendable {
    /// The maximum size of the archive.
    package var archiveSize = 64 << 20
    /// The maximum number of entries, including skipped ones.
    package var entryCount = 4_096
    /// The maximum size of one entry's contents, counted while reading.
    package var entrySize = 1 << 20
    /// The maximum total size of all entries' contents, counted while reading.
    package var contentsSize = 64 << 20
    /// The maximum ratio of an entry's size to its compressed size.
    package var ratio = 25
    /// The size up to which an entry may have any compression ratio.
    package var ratioFreeSize = 64 << 10
    /// The maximum length of one entry's name.
    package var nameLength = 255

    /// The limits for archives of any origin.
    package static let standard = ZipLimits()

    /// Creates the standard limits, which can be changed.
    package init() {}
}
