/// The bounds of what is read from an archive (docs/rules.md R7.14). Sizes are in bytes.
package struct ZipLimits: Hashable, Sendable {
    /// The size of the archive.
    package var archiveSize = 64 << 20
    /// The number of entries, skipped ones included.
    package var entryCount = 4_096
    /// The size of one entry's contents, counted as they are read.
    package var entrySize = 1 << 20
    /// The size of all entries' contents together, counted as they are read.
    package var contentsSize = 64 << 20
    /// The largest ratio of an entry's size to its compressed size.
    package var ratio = 25
    /// The size up to which an entry may have any ratio.
    package var ratioFreeSize = 64 << 10
    /// The size of one entry's name.
    package var nameLength = 255

    /// The limits for archives from anywhere.
    package static let standard = ZipLimits()

    /// The standard limits, each of which may be changed.
    package init() {}
}
