/// Text that is equal to other text only if both have the same UTF-8 bytes.
///
/// `String` compares by canonical equivalence (Unicode Standard Annex #15), which is unsuitable for identifiers from a
/// peer. Other implementations compare bytes, and comparing text with alternating combining marks takes time quadratic
/// in its length.
package struct ExactText: Sendable, Hashable {
    /// The text as received, without normalization.
    package let text: String

    /// Wraps `text` without changing it.
    package init(_ text: String) {
        self.text = text
    }

    /// Compares the bytes.
    package static func == (left: ExactText, right: ExactText) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { bytes in
            unsafe hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
        }
    }
}

extension String {
    /// Returns whether this text and `other` have the same UTF-8 bytes.
    package func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        // Most strings are stored as UTF-8. Comparing the storage is much faster than comparing the UTF-8 views.
        let isSame = unsafe utf8.withContiguousStorageIfAvailable { mine in
            unsafe other.utf8.withContiguousStorageIfAvailable { theirs in unsafe mine.elementsEqual(theirs) }
        }
        return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}
