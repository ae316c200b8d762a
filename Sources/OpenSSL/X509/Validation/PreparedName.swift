internal import Diagnostics
internal import Foundation

/// A distinguished name in the form in which it is compared with excluded subtrees: string preparation removes the
/// differences of case, spaces and Unicode normalization (RFC 5280 7.1, RFC 4518 2).
///
/// It removes more differences than RFC 4518, so that more names are excluded: all format characters are ignored, and
/// letters are equal if their upper-case forms are.
struct PreparedName: Sendable, Hashable {
    /// The maximum number of characters outside ASCII in the values of all names of a certificate. Normalizing a
    /// character can produce 18 others.
    static let mostCharacters = 4_096

    struct Attribute: Sendable, Hashable {
        let type: String
        /// The UTF-8 of the prepared value; nil if the value is too long, or has too many consecutive combining marks, to
        /// be normalized, or if the certificate has too many characters outside ASCII. It equals every other value, and
        /// so do the other values of its relative name.
        let value: [UInt8]?

        func precedes(_ other: Attribute) -> Bool {
            guard type == other.type else { return type < other.type }
            return (value ?? []).lexicographicallyPrecedes(other.value ?? [])
        }
    }

    /// The attributes of each relative name, sorted.
    let relativeNames: [[Attribute]]

    /// Prepares a name. `remaining` is the number of characters outside ASCII that may still be prepared.
    private init(_ name: DistinguishedName, _ remaining: inout Int) {
        relativeNames = name.relativeNames.map { attributes in
            let prepared = attributes.map {
                Attribute(type: $0.type, value: Self.prepared($0.value, &remaining))
            }
            return prepared.sorted { $0.precedes($1) }
        }
    }

    /// Prepares all names of a certificate, or with a higher limit those that an authority excludes, which are prepared
    /// only once.
    static func names(_ names: [DistinguishedName], most limit: Int = mostCharacters) -> [PreparedName] {
        var remaining = limit
        return names.map { PreparedName($0, &remaining) }
    }

    /// Whether the name begins with the relative names of a subtree (RFC 5280 7.1).
    func isWithin(_ subtree: PreparedName) -> Bool {
        relativeNames.count >= subtree.relativeNames.count
            && zip(relativeNames, subtree.relativeNames).allSatisfy { own, other in
                let isOpen = (own + other).contains { $0.value == nil }
                return own.map(\.type) == other.map(\.type) && (isOpen || own == other)
            }
    }

    /// The prepared value as UTF-8, because comparing strings would normalize them again.
    private static func prepared(_ value: String, _ remaining: inout Int) -> [UInt8]? {
        let scalars = value.unicodeScalars
        // A longer text was truncated when the name was read.
        guard scalars.count <= DistinguishedName.largestTextLength else { return nil }
        let kept = String(String.UnicodeScalarView(scalars.lazy.filter { !isIgnored($0) }))
        var folded = kept.lowercased()
        if !kept.utf8.allSatisfy({ $0 < 0x80 }) {
            remaining -= scalars.count
            guard remaining >= 0, kept.isStreamSafe else { return nil }
            // Folding can produce characters that must be composed.
            folded =
                fold(kept.precomposedStringWithCompatibilityMapping)
                .precomposedStringWithCompatibilityMapping
        }
        let words = folded.unicodeScalars.split { $0.properties.isWhitespace }
        return Array(words.map { String($0) }.joined(separator: " ").utf8)
    }

    /// The text without differences of case. The capital ẞ has no upper-case form of its own, but that of its lower-case
    /// form is SS.
    private static func fold(_ text: String) -> String { text.lowercased().uppercased().lowercased() }

    /// Whether RFC 4518 2.2 maps the character to nothing: a control or format character, a soft hyphen, a variation
    /// selector or the object replacement character.
    private static func isIgnored(_ scalar: Unicode.Scalar) -> Bool {
        guard !scalar.properties.isWhitespace else { return false }
        return switch scalar.properties.generalCategory {
        case .control, .format: true
        default:
            scalar.properties.isDefaultIgnorableCodePoint || scalar == "\u{1806}" || scalar == "\u{FFFC}"
        }
    }
}
