internal import Diagnostics

/// Checks a YAML document before it is parsed.
///
/// The parser builds the whole text in memory and hashes all keys to find duplicates. A few hundred bytes of nested
/// aliases, or of keys that contain keys, could therefore expand to an arbitrary number of values. The files of this
/// package need no anchors, no aliases, and only strings as keys, so this scan rejects a document with other constructs
/// before it is parsed. A word that looks like an alias is only treated as one if an anchor with its name precedes it.
struct YAMLScan {
    /// The maximum number of values that the text may contain.
    private let most: Int
    private var position = SourcePosition.start
    /// The preceding character, and the last one that is not whitespace.
    private var previous: Unicode.Scalar = "\n"
    private var solid: Unicode.Scalar = "\n"
    private var anchors: Set<String> = []
    private var separators = 0
    private var marks = CombiningMarks()
    /// The number of remaining characters of an escape that has already been counted.
    private var escapeLength = 0

    /// Checks the whole text.
    ///
    /// - Parameter most: The maximum number of values. The scan counts the characters that separate values. A text has
    ///   at most two for each value.
    /// - Throws: `ProvisioningError` with the position of the rejected construct.
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
            throw ProvisioningError(position, "the text has more than \(most) values")
        }
    }

    /// Records an anchor, or rejects an alias. Neither may directly follow a letter or a digit.
    private mutating func reference(_ sign: Unicode.Scalar, _ name: String) throws(ProvisioningError) {
        guard !name.isEmpty, !Self.isNameCharacter(previous) else { return }
        if sign == "&" {
            anchors.insert(name)
        } else if anchors.contains(name) {
            throw ProvisioningError(position, "aliases are not accepted; expected the value itself")
        }
    }

    /// Whether a question mark at this position may start a complex key (YAML 1.2, 8.2.2 and 7.4.2).
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
        ProvisioningError(position, "this key is not a string; expected a string")
    }

    /// Counts consecutive combining marks, including those written as escapes. White space and the backslash of an
    /// escape do not end a sequence, because an escaped line break produces no character.
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
        guard marks.accept(scalar) else {
            throw .manyMarks(at: position)
        }
    }

    private mutating func move(_ scalar: Unicode.Scalar) {
        // A line feed after a carriage return ends the same line.
        let endsLine = Self.lineBreaks.contains(scalar) && !(scalar == "\n" && previous == "\r")
        let isLineBreak = Self.lineBreaks.contains(scalar)
        position = SourcePosition(
            line: position.line + (endsLine ? 1 : 0), column: isLineBreak ? 1 : position.column + 1)
        previous = scalar
        if scalar != " " && scalar != "\t" { solid = scalar }
    }

    private static let lineBreaks: Set<Unicode.Scalar> = ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"]

    /// Whether a character may be part of an anchor's name.
    private static func isNameCharacter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "-": true
        default: false
        }
    }

    /// The anchor name at the start of a string; empty if there is none.
    private static func name(_ text: Substring.UnicodeScalarView) -> String {
        String(text.prefix(while: isNameCharacter))
    }

    /// The character that an escape represents (YAML 1.2, 5.7), and the length of the escape without its backslash. Nil
    /// if `text` does not begin with a numeric escape.
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
