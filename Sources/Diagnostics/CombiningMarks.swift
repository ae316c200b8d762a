/// Counts consecutive combining marks in text from untrusted sources.
///
/// Swift compares and hashes strings in a normal form, and sorts consecutive marks for it in quadratic time: comparing
/// two strings with 100,000 marks takes several seconds. The Stream-Safe Text Format allows 30 (Unicode Standard Annex
/// 15, 13).
package struct CombiningMarks {
    /// The maximum number of consecutive combining marks (UAX15-D4).
    package static let most = 30
    private var count = 0

    /// Creates a counter for a text.
    package init() {}

    /// Counts the next character. Returns false if it is one consecutive mark too many.
    package mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
        count = Self.isMark(scalar) ? count + 1 : 0
        return count <= Self.most
    }

    /// Whether Unicode normalization sorts the character among the combining marks. Three characters have the combining
    /// class 0, but decompose into combining marks (Unicode Standard Annex 15, 5.1).
    package static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x300
            && (scalar.properties.canonicalCombiningClass != .notReordered
                || [0x0F73, 0x0F75, 0x0F81].contains(scalar.value))
    }

    /// Whether strings in JSON text, including their escapes, have few enough consecutive marks to be decoded. False for
    /// text in UTF-16 and UTF-32, which a decoder also reads.
    package static func areFew(inJSON text: [UInt8]) -> Bool {
        guard !text.contains(0) else { return false }
        var marks = CombiningMarks()
        var rest = String(decoding: text, as: UTF8.self).unicodeScalars[...]
        while var scalar = rest.popFirst() {
            if scalar == "\\", let escape = rest.jsonEscape {
                scalar = escape.scalar
                rest = rest.dropFirst(escape.length)
            }
            guard marks.accept(scalar) else { return false }
        }
        return true
    }
}

extension String {
    /// Whether the text has at most ``CombiningMarks/most`` consecutive combining marks.
    package var isStreamSafe: Bool {
        var marks = CombiningMarks()
        return utf8.allSatisfy { $0 < 0x80 } || unicodeScalars.allSatisfy { marks.accept($0) }
    }

    /// The text with a combining grapheme joiner between too many consecutive combining marks, which ends their
    /// sequence (Unicode Standard Annex 15, UAX15-D4).
    package var streamSafe: String {
        guard !isStreamSafe else { return self }
        var (text, marks) = (String.UnicodeScalarView(), CombiningMarks())
        for scalar in unicodeScalars {
            if !marks.accept(scalar) {
                text.append("\u{34F}")
                marks = CombiningMarks()
                _ = marks.accept(scalar)
            }
            text.append(scalar)
        }
        return String(text)
    }
}

extension Substring.UnicodeScalarView {
    /// The character of an escape in JSON (RFC 8259, 7) whose backslash precedes this text, and the length of the rest
    /// of the escape. Nil for other text, and for half of a surrogate pair.
    fileprivate var jsonEscape: (scalar: Unicode.Scalar, length: Int)? {
        guard let first = codeUnit(after: "u") else { return nil }
        if let scalar = Unicode.Scalar(first) { return (scalar, 5) }
        guard let second = dropFirst(5).codeUnit(after: "\\u") else { return nil }
        let pair = String(decoding: [first, second], as: UTF16.self).unicodeScalars
        return pair.count == 1 ? pair.first.map { ($0, 11) } : nil
    }

    /// The number in the four hexadecimal digits after a prefix; nil if the text does not begin like this.
    private func codeUnit(after prefix: String) -> UInt16? {
        let prefix = prefix.unicodeScalars
        return starts(with: prefix)
            ? UInt16(String(dropFirst(prefix.count).prefix(4)), radix: 16) : nil
    }
}
