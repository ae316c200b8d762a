package import KeySharing
internal import OpenSSL
package import ZipBundles

/// The result of an import for one identity, or for a file or entry without identities.
package struct ImportResult: Sendable {
    /// The possible outcomes for one identity, file or entry.
    package enum Outcome: Sendable {
        /// The identity is in the keychain now.
        case imported(IdentitySummary)
        /// The keychain already contained the identity. This counts as success (docs/rules.md R7.2).
        case duplicate(IdentitySummary)
        /// The import of the identity, file or entry failed with this error.
        case failed(any Error)
        /// The zip entry was not opened (docs/rules.md R7.15).
        case skipped(ZipContents.Skipped.Reason)
    }

    /// The identifier of the item, or the path of the file.
    package let item: String
    /// The name of the zip entry; nil if the item is not a zip.
    package let entry: String?
    /// The index of the entry among the files of the archive, starting at 0. It distinguishes entries with the same
    /// name.
    package let position: Int
    /// Whether an earlier entry of the archive has the same name (docs/rules.md R7.16).
    package let repeatsName: Bool
    /// The outcome for the identity, file or entry.
    package let outcome: Outcome

    /// Creates a result.
    package init(
        item: String, entry: String? = nil, position: Int = 0, repeatsName: Bool = false, outcome: Outcome
    ) {
        self.item = item
        self.entry = entry
        self.position = position
        self.repeatsName = repeatsName
        self.outcome = outcome
    }

    /// The note for an entry with the name of an earlier entry, as a sentence without a full stop.
    package static let noteOnRepeatedName =
        "an earlier entry of the archive has the same name; both were read"

    /// Returns a copy of this result with another outcome.
    package func with(_ outcome: Outcome) -> ImportResult {
        ImportResult(
            item: item, entry: entry, position: position, repeatsName: repeatsName, outcome: outcome)
    }

    /// The error of a failure; nil for every other outcome.
    package var error: (any Error)? {
        if case .failed(let error) = outcome { error } else { nil }
    }

    /// Whether the file or entry could not be opened because the password is wrong.
    package var isUnderAnotherPassword: Bool { (error as? PKCS12Error)?.code == .wrongPassword }

    /// The identity that is now in the keychain; nil for failures and skipped entries.
    package var identity: IdentitySummary? {
        switch outcome {
        case .imported(let identity), .duplicate(let identity): identity
        case .failed, .skipped: nil
        }
    }
}
