/// A text that equals another one only if both have the same bytes as UTF-8.
///
/// `String` compares by canonical equivalence (Unicode Standard Annex #15). For an identifier that a peer sends, that is
/// wrong twice: another implementation would compare bytes, and a text of combining marks that alternate takes
/// time that grows with the square of its length.
package struct ExactText: Sendable, Hashable {
    /// The text.
    package let text: String

    /// Wraps a text.
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
    /// Tells whether this text has the same bytes as `other`, both as UTF-8.
    package func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        // Most texts lie in memory as UTF-8, which is compared much faster than a text's own view of its bytes.
        let isSame = unsafe utf8.withContiguousStorageIfAvailable { mine in
            unsafe other.utf8.withContiguousStorageIfAvailable { theirs in unsafe mine.elementsEqual(theirs) }
        }
        return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}
