// Text that comes from a file, a peer or a certificate may hold characters that move a terminal's cursor, clear its
// screen, start a line of their own, or turn the direction of writing so that one name reads as another. The rule for
// such characters stands here, once; every module that shows, logs or refuses foreign text asks this file.

extension Unicode.Scalar {
    /// Whether printing the character can change how a terminal shows other text.
    ///
    /// True for the control characters C0, DEL and C1 (ECMA-48), the line and paragraph separators U+2028 and U+2029,
    /// every mark that sets the direction of writing (U+061C, U+200E, U+200F, U+202A–U+202E, U+2066–U+2069; Unicode
    /// Standard Annex 9, 2), and every other character of the general category Format, such as the zero-width space, the
    /// soft hyphen and the tags: they make two texts look alike. False for the zero-width joiner and non-joiner, without
    /// which emoji, and words in Persian and in the scripts of India, are spelled wrong.
    package var steersTerminal: Bool {
        switch value {
        case 0x20..<0x7F, 0x200C, 0x200D: false
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        default: properties.generalCategory == .format
        }
    }

    /// Whether a reader cannot see the character: it steers a terminal, is another format character such as a
    /// zero-width space, or has no agreed glyph (private use, unassigned). Names that people type are refused for it.
    package var isInvisible: Bool {
        guard !steersTerminal else { return true }
        return switch properties.generalCategory {
        case .format, .privateUse, .unassigned: true
        default: false
        }
    }

    /// The character as JSON spells it, in UTF-16: `\u001B` (RFC 8259, 7).
    package var escapedInJSON: String {
        UTF16.encode(self).map { units in
            units.map { unit in
                let digits = String(unit, radix: 16, uppercase: true)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        } ?? ""
    }

    /// The character as Swift source spells it, `\u{1B}`: what foreign text shows in its place.
    package var escaped: String { "\\u{\(String(value, radix: 16, uppercase: true))}" }
}

extension String {
    /// The text with every character that may steer a terminal spelled as `\u{1B}`, so that it is safe to print.
    ///
    /// Text that is safe already is returned unchanged, and so is text that went through `visible` before.
    package var visible: String { visible(keepingLineFeeds: false) }

    /// The text with every character that may steer a terminal spelled as `\u{1B}`.
    ///
    /// - Parameter keepingLineFeeds: Whether line feeds stay, for text of several lines. Text from outside must not
    ///   keep them: a line feed would let it add a line that looks like ours.
    package func visible(keepingLineFeeds: Bool) -> String {
        let lineFeed = UInt8(ascii: "\n")
        // Nearly all text is plain ASCII, and looking at bytes is the quickest way to know.
        if utf8.allSatisfy({ (0x20..<0x7F).contains($0) || (keepingLineFeeds && $0 == lineFeed) }) {
            return self
        }
        return unicodeScalars.reduce(into: "") { text, scalar in
            if scalar.steersTerminal, !(keepingLineFeeds && scalar == "\n") {
                text += scalar.escaped
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
    }
}
