internal import Diagnostics

/// The bounds of texts in YAML, whatever they describe.
package enum YAMLBounds {
    /// The most combining marks in a row, which is what the Stream-Safe Text Format has (Unicode Standard Annex 15,
    /// UAX15-D4). Comparing texts sorts such marks, in quadratic time.
    package static let mostMarks = 30
    /// The greatest length of one value, in bytes.
    package static let largestText = 16_384
}

/// A look at a YAML text before the parser builds anything of it.
///
/// The parser composes the whole text, and hashes every key to find those that are there twice. A few hundred bytes of
/// aliases that name aliases would stand for any number of values then, and so would keys that hold keys. Nothing that
/// is read here needs anchors, aliases, or keys other than texts, so that a text with them is refused while it is only
/// a text. What looks like an alias counts as one where an anchor of its name stands before it.
struct YAMLScan {
    /// How many values are allowed.
    private let most: Int
    private var position = SourcePosition.start
    /// The characters before this one, the nearest last: the one directly before, and the last that is no blank.
    private var previous: Unicode.Scalar = "\n"
    private var solid: Unicode.Scalar = "\n"
    private var anchors: Set<String> = []
    private var separators = 0
    private var marks = 0
    /// How many characters of an escape are left, whose number is counted already.
    private var escapeLength = 0

    /// Looks at all of `text`.
    ///
    /// - Parameter most: how many values are allowed; the characters that separate values are counted, of which a text
    ///   has at most two for each value.
    /// - Throws: `ProvisioningError` at the place of what is refused.
    static func check(_ text: String, most: Int) throws(ProvisioningError) {
        var scan = YAMLScan(most: most)
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            try scan.take(scalar, before: rest)
        }
    }

    private init(most: Int) {
        self.most = most
    }

    private mutating func take(
        _ scalar: Unicode.Scalar, before rest: Substring.UnicodeScalarView
    ) throws(ProvisioningError) {
        switch scalar {
        case ",", "[", "{", ":": try separate()
        case _ where Self.lineBreaks.contains(scalar): try separate()
        case " " where previous == "-" || previous == "?": try separate()
        default: break
        }
        switch scalar {
        case "&", "*": try reference(scalar, Self.name(rest))
        case "?" where isKeyIndicator(before: rest.first): throw unsuitableKey
        case ":" where solid == "]" || solid == "}": throw unsuitableKey
        default: break
        }
        try count(marksOf: scalar, before: rest)
        move(scalar)
    }

    private mutating func separate() throws(ProvisioningError) {
        separators += 1
        guard separators <= 2 * most else {
            throw ProvisioningError(position, "there are more than \(most) values in the text")
        }
    }

    /// Notes an anchor, or refuses an alias of one. Neither stands directly behind a letter or digit.
    private mutating func reference(_ sign: Unicode.Scalar, _ name: String) throws(ProvisioningError) {
        guard !name.isEmpty, !Self.isNameCharacter(previous) else { return }
        if sign == "&" {
            anchors.insert(name)
        } else if anchors.contains(name) {
            throw ProvisioningError(position, "aliases are not taken; expected the value itself")
        }
    }

    /// Whether a question mark at this place may begin a key of any kind (YAML 1.2, 8.2.2 and 7.4.2).
    private func isKeyIndicator(before next: Unicode.Scalar?) -> Bool {
        switch solid {
        case "[", "{", ",": true
        case "-", "?", ":":
            (previous == " " || previous == "\t")
                && next.map { $0 == " " || $0 == "\t" || Self.lineBreaks.contains($0) } ?? true
        default: Self.lineBreaks.contains(solid)
        }
    }

    private var unsuitableKey: ProvisioningError {
        ProvisioningError(position, "a key that is no text is not taken; expected a text")
    }

    /// Counts the combining marks in a row, those included that are written as escapes. White space and the backslash
    /// of an escape do not end a row, because an escaped line break stands for nothing.
    private mutating func count(
        marksOf scalar: Unicode.Scalar, before rest: Substring.UnicodeScalarView
    ) throws(ProvisioningError) {
        guard escapeLength == 0 else {
            escapeLength -= 1
            return
        }
        var scalar = scalar
        if scalar == "\\", let escape = Self.escape(rest) {
            (scalar, escapeLength) = escape
        } else if " \t\r\n\\".unicodeScalars.contains(scalar) {
            return
        }
        guard Self.isMark(scalar) else {
            marks = 0
            return
        }
        marks += 1
        guard marks <= YAMLBounds.mostMarks else {
            throw ProvisioningError(
                position, "there are more than \(YAMLBounds.mostMarks) combining marks in a row")
        }
    }

    private mutating func move(_ scalar: Unicode.Scalar) {
        // A line feed behind a carriage return ends the same line.
        let endsLine = Self.lineBreaks.contains(scalar) && !(scalar == "\n" && previous == "\r")
        let isLineBreak = Self.lineBreaks.contains(scalar)
        position = SourcePosition(
            line: position.line + (endsLine ? 1 : 0), column: isLineBreak ? 1 : position.column + 1)
        previous = scalar
        if scalar != " " && scalar != "\t" { solid = scalar }
    }

    private static let lineBreaks: Set<Unicode.Scalar> = ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"]

    /// Whether a character sorts among the marks behind a letter. Three have the class of letters, and are made of
    /// marks (Unicode Standard Annex 15, 5.1).
    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x300
            && (scalar.properties.canonicalCombiningClass != .notReordered
                || [0x0F73, 0x0F75, 0x0F81].contains(scalar.value))
    }

    /// Whether a character may be part of the name of an anchor.
    private static func isNameCharacter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "-": true
        default: false
        }
    }

    /// The name of an anchor with which a text begins; empty where it begins with none.
    private static func name(_ text: Substring.UnicodeScalarView) -> String {
        String(text.prefix(while: isNameCharacter))
    }

    /// The character for which an escape stands (YAML 1.2, 5.7), and the length of the escape without its backslash;
    /// nil where `text` begins with no number.
    private static func escape(_ text: Substring.UnicodeScalarView) -> (Unicode.Scalar, Int)? {
        let length: Int
        switch text.first {
        case "x": length = 2
        case "u": length = 4
        case "U": length = 8
        default: return nil
        }
        let digits = String(text.dropFirst().prefix(length))
        guard digits.utf8.count == length, let scalar = UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init)
        else { return nil }
        return (scalar, length + 1)
    }
}
