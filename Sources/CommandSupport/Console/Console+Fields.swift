internal import Diagnostics
package import OpenSSL

extension Console {
    /// Writes names and values below each other, the values lined up. On a terminal a value that does not fit goes on
    /// below its start; a word that is longer than a line is kept whole, so that it can be copied.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func fields(_ fields: [(name: String, value: String)], indent: String = "  ")
        throws(CommandFailure)
    {
        let width = fields.map(\.name.count).max() ?? 0
        for field in fields {
            let padding = String(repeating: " ", count: width - field.name.count)
            let start = "\(indent)\(field.name)\(padding)  "
            // A line feed in a value, which may be foreign text, is spelled out before the value is broken into lines.
            let wrapped = wrapped(field.value.visible, indent: start.columnCount)
            let hanging = "\n" + String(repeating: " ", count: start.columnCount)
            try lines(start + wrapped.joined(separator: hanging))
        }
    }

    /// Writes a paragraph, which is broken between words where it does not fit the terminal.
    ///
    /// - Parameters:
    ///   - text: the paragraph.
    ///   - indent: the blanks before each line.
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func paragraph(_ text: String, indent: Int = 0) throws(CommandFailure) {
        let blanks = String(repeating: " ", count: indent)
        try lines(wrapped(text.visible, indent: indent).map { blanks + $0 }.joined(separator: "\n"))
    }

    /// The text in lines that fit the terminal behind so many blanks; half the terminal is left to them at least.
    private func wrapped(_ text: some StringProtocol, indent: Int) -> [String] {
        guard let width else { return [String(text)] }
        return text.wrapped(to: max(width - indent, width / 2))
    }

    /// Whether a line fits the terminal.
    package func fits(_ line: String) -> Bool {
        width.map { line.columnCount <= $0 } ?? true
    }

    /// Writes a certificate's fields.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func certificate(_ certificate: Certificate) throws(CommandFailure) {
        try fields(CertificateDocument(certificate).fields)
    }
}
