package import OpenSSL

extension Console {
    /// Writes names and values below each other, the values lined up.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func fields(_ fields: [(name: String, value: String)], indent: String = "  ")
        throws(CommandFailure)
    {
        let width = fields.map(\.name.count).max() ?? 0
        for field in fields {
            let padding = String(repeating: " ", count: width - field.name.count)
            try data("\(indent)\(field.name)\(padding)  \(field.value)")
        }
    }

    /// Writes text of several lines; nothing where it is empty.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func lines(_ text: String) throws(CommandFailure) {
        if !text.isEmpty { try data(text) }
    }

    /// Writes a certificate's fields.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func certificate(_ certificate: Certificate) throws(CommandFailure) {
        try fields(CertificateDocument(certificate).fields)
    }
}
