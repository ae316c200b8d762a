package import OpenSSL
package import ZipBundles

/// A part of an imported file: a complete PKCS #12 file, or an entry of a zip.
package struct FileEntry: Sendable {
    /// The possible results of reading an entry.
    package enum Contents: Sendable {
        /// The contents of a PKCS #12 file that was opened.
        case read(PKCS12Contents)
        /// The error of a PKCS #12 file that could not be opened, or of a rejected zip entry.
        case unreadable(any Error)
        /// A zip entry that is a folder or contains only macOS attributes.
        case skipped(ZipContents.Skipped.Reason)
    }

    /// The name of the zip entry; nil if the file is not a zip.
    package let name: String?
    /// Whether an earlier entry of the zip has the same name. Both entries are read; no file is written under this
    /// name.
    package let repeatsName: Bool
    /// The result of reading the entry.
    package let contents: Contents

    /// Whether the entry was not opened.
    package var isSkipped: Bool {
        if case .skipped = contents { true } else { false }
    }
}

extension FileEntry {
    /// The identities of the entry, in file order.
    var identities: [PKCS12Identity] {
        if case .read(let contents) = contents { contents.identities } else { [] }
    }

    /// Returns the outcomes of the entry: first those of its identities, then its failures. The outcomes of the
    /// identities are removed from the front of `added`.
    func outcomes(
        taking added: inout ArraySlice<ImportResult.Outcome>, _ origin: PasswordOrigin
    ) -> [ImportResult.Outcome] {
        switch contents {
        case .skipped(let reason): return [.skipped(reason)]
        case .unreadable(let error): return [.failed(origin.blamed(for: error))]
        case .read(let contents):
            let own = added.prefix(contents.identities.count)
            added = added.dropFirst(own.count)
            return own + contents.obstacles.map { .failed(origin.blamed(for: $0)) }
        }
    }
}
