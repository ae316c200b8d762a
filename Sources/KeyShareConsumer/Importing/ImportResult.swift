package import KeySharing
package import ZipBundles

/// The result of an import for one identity, or for a file or entry that gave none.
package struct ImportResult: Sendable {
    /// The outcomes of importing one identity, file or entry.
    package enum Outcome: Sendable {
        /// The identity is in the keychain now.
        case imported(IdentitySummary)
        /// The keychain held the identity already, which is a success (docs/rules.md R7.2).
        case duplicate(IdentitySummary)
        /// Nothing was imported.
        case failed(any Error)
        /// The zip entry was not looked into (docs/rules.md R7.15).
        case skipped(ZipContents.Skipped.Reason)
    }

    /// The identifier of the item, or the path of the file.
    package let item: String
    /// The name of the zip entry; nil where the item is no zip.
    package let entry: String?
    /// What became of the identity, file or entry.
    package let outcome: Outcome

    /// Makes a result.
    package init(item: String, entry: String? = nil, outcome: Outcome) {
        self.item = item
        self.entry = entry
        self.outcome = outcome
    }

    /// The error of a failure; nil for every other outcome.
    package var error: (any Error)? {
        if case .failed(let error) = outcome { error } else { nil }
    }

    /// The identity that the keychain holds now; nil for a failure and for what was skipped.
    package var identity: IdentitySummary? {
        switch outcome {
        case .imported(let identity), .duplicate(let identity): identity
        case .failed, .skipped: nil
        }
    }
}
