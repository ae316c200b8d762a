internal import Diagnostics
internal import Foundation

/// A distinguished name in the form in which it is compared with excluded subtrees: string preparation removes the
/// differences of case, spaces and Unicode normalization (RFC 5280 7.1, RFC 4518 2).
///
/// It removes more differences than RFC 4518, so that more names are excluded: all format characters are ignored, and
/// letters are equal if their upper-case forms are.
struct PreparedName {
    struct Attribute {
        let type: String
        /// The UTF-8 of the prepared value; nil if the value is too long, or has too many consecutive combining marks,
        /// to be normalized. Such a value equals every other one.
        let value: [UInt8]?

        func matches(_ other: Attribute) -> Bool {
            type == other.type && (value == nil || other.value == nil || value == other.value)
        }

        func precedes(_ other: Attribute) -> Bool {
            guard type == other.type else { return type < other.type }
            return (value ?? []).lexicographicallyPrecedes(other.value ?? [])
        }
    }

    /// The attributes of each relative name, sorted.
    let relativeNames: [[Attribute]]

    /// Prepares a name, but at most its first `mostRelativeNames` relative names.
    init(_ name: DistinguishedName, mostRelativeNames: Int = .max) {
        relativeNames = name.relativeNames.prefix(mostRelativeNames).map { attributes in
            let prepared = attributes.map { Attribute(type: $0.type, value: Self.prepared($0.value)) }
            return prepared.sorted { $0.precedes($1) }
        }
    }

    /// Whether the name begins with the relative names of a subtree (RFC 5280 7.1).
    func isWithin(_ subtree: PreparedName) -> Bool {
        relativeNames.count >= subtree.relativeNames.count
            && zip(relativeNames, subtree.relativeNames).allSatisfy { own, other in
                own.count == other.count && zip(own, other).allSatisfy { $0.matches($1) }
            }
    }

    /// The prepared value as UTF-8, because comparing strings would normalize them again.
    private static func prepared(_ value: String) -> [UInt8]? {
        let scalars = value.unicodeScalars
        // A longer text was truncated when the name was read.
        guard scalars.count <= DistinguishedName.largestTextLength else { return nil }
        let kept = String(String.UnicodeScalarView(scalars.lazy.filter { !isIgnored($0) }))
        guard kept.isStreamSafe else { return nil }
        let folded = kept.precomposedStringWithCompatibilityMapping.uppercased().lowercased()
        // Folding can produce characters that must be composed.
        let normalized = folded.precomposedStringWithCompatibilityMapping
        let words = normalized.unicodeScalars.split { $0.properties.isWhitespace }
        return Array(words.map { String($0) }.joined(separator: " ").utf8)
    }

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
