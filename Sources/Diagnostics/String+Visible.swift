// Text from a file, a peer or a certificate may contain characters that move a terminal's cursor, clear its screen,
// start a new line, or reverse the direction of writing so that one name reads as another. This file is the only place
// that defines those characters. Every module uses it to print, log or reject untrusted text.

extension Unicode.Scalar {
    /// Whether printing the character can change how a terminal shows other text.
    ///
    /// True for:
    ///
    /// - the control characters C0, DEL and C1 (ECMA-48);
    /// - the line and paragraph separators U+2028 and U+2029;
    /// - every mark that sets the direction of writing (U+061C, U+200E, U+200F, U+202A–U+202E, U+2066–U+2069; Unicode
    ///   Standard Annex 9, 2);
    /// - every other character of the general category Format, such as the zero-width space, the soft hyphen and the
    ///   tags, because they make two different strings look alike.
    ///
    /// False for the zero-width joiner and non-joiner: emoji, Persian and the scripts of India need them for correct
    /// spelling.
    package var steersTerminal: Bool {
        switch value {
        case 0x20..<0x7F, 0x200C, 0x200D: false
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        default: properties.generalCategory == .format
        }
    }

    /// Whether the character is invisible: it can change how a terminal shows other text (``steersTerminal``), is a
    /// zero-width joiner or non-joiner, or has no standard glyph (private use, unassigned). Names that people type must
    /// not contain such characters.
    package var isInvisible: Bool {
        guard !steersTerminal else { return true }
        return switch properties.generalCategory {
        case .format, .privateUse, .unassigned: true
        default: false
        }
    }

    /// The character's UTF-16 escape in JSON: `\u001B` (RFC 8259, 7).
    package var escapedInJSON: String {
        UTF16.encode(self).map { units in
            units.map { unit in
                let digits = String(unit, radix: 16, uppercase: true)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        } ?? ""
    }

    /// The character's escape in Swift source, `\u{1B}`. It replaces the character in untrusted text.
    package var escaped: String { "\\u{\(String(value, radix: 16, uppercase: true))}" }
}

extension String {
    /// The text with every character that may control a terminal replaced by its escape, such as `\u{1B}`. The result
    /// is safe to print.
    ///
    /// Safe text, including the result of an earlier call, is returned unchanged.
    package var visible: String { visible(keepingLineFeeds: false) }

    /// Returns the text with every character that may control a terminal replaced by its escape, such as `\u{1B}`.
    ///
    /// - Parameter keepingLineFeeds: Whether to keep line feeds, for text of several lines. Never keep them in
    ///   untrusted text: a line feed would let it forge a line of the program's own output.
    package func visible(keepingLineFeeds: Bool) -> String {
        let lineFeed = UInt8(ascii: "\n")
        // Nearly all text is plain ASCII, and a check of the bytes is the fastest test.
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
