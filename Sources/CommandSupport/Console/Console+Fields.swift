internal import Diagnostics
package import OpenSSL

extension Console {
    /// Writes names and values, one pair per line, with aligned values. On a terminal, long values are wrapped and
    /// their continuation lines indented. A word that is longer than a line is kept whole, so that it can be copied.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    package func fields(_ fields: [(name: String, value: String)], indent: String = "  ")
        throws(CommandFailure)
    {
        let width = fields.map(\.name.count).max() ?? 0
        for field in fields {
            let padding = String(repeating: " ", count: width - field.name.count)
            let start = "\(indent)\(field.name)\(padding)  "
            // Values may be untrusted text, so their line feeds are escaped before the value is wrapped.
            let wrapped = wrapped(field.value.visible, indent: start.columnCount)
            let hanging = "\n" + String(repeating: " ", count: start.columnCount)
            try lines(start + wrapped.joined(separator: hanging))
        }
    }

    /// Writes a paragraph, wrapped between words to fit the terminal.
    ///
    /// - Parameters:
    ///   - text: The paragraph.
    ///   - indent: The number of spaces before each line.
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    package func paragraph(_ text: String, indent: Int = 0) throws(CommandFailure) {
        let blanks = String(repeating: " ", count: indent)
        try lines(wrapped(text.visible, indent: indent).map { blanks + $0 }.joined(separator: "\n"))
    }

    /// Wraps text to the columns that remain after the indentation, but to at least half of the terminal's width.
    private func wrapped(_ text: some StringProtocol, indent: Int) -> [String] {
        guard let width else { return [String(text)] }
        return text.wrapped(to: max(width - indent, width / 2))
    }

    /// Returns whether a line fits the terminal.
    package func fits(_ line: String) -> Bool {
        width.map { line.columnCount <= $0 } ?? true
    }

    /// Writes a certificate's fields.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    package func certificate(_ certificate: Certificate) throws(CommandFailure) {
        try fields(CertificateDocument(certificate).fields)
    }
}
