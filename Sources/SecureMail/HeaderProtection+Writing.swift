internal import OpenSSL

extension HeaderProtection {
    /// The subject outside an encrypted message (hcp_baseline, RFC 9788, 3.2.1).
    package static let hiddenSubject = "[...]"

    /// The fields that an encrypted message hides outside: their values outside, or nil for fields that are omitted
    /// (hcp_baseline, RFC 9788, 3.2.1).
    private static let hiddenFields: [String: String?] = [
        "subject": hiddenSubject, "comments": nil, "keywords": nil,
    ]

    /// Returns the fields for the outside of a message, and the fields for the root of its protected part.
    ///
    /// - Parameters:
    ///   - header: The fields of the message, without those that describe its content.
    ///   - content: The fields that describe the content, with Content-Type.
    ///   - isEncrypted: Whether the protected part is encrypted. If so, the subject, comments and keywords are hidden
    ///     outside, and HP-Outer records the fields outside. Otherwise the outer fields equal the protected ones.
    ///   - hasLegacyDisplay: Whether the protected part begins with ``legacyDisplay(of:)``.
    package static func fields(
        for header: MailHeader, content: MailHeader, isEncrypted: Bool, hasLegacyDisplay: Bool = false
    ) -> (outer: MailHeader, payload: MailHeader) {
        let outer = isEncrypted ? hiding(header) : header
        let records =
            isEncrypted
            ? outer.fields.map { MailHeader.Field("HP-Outer", "\($0.name): \($0.value)") } : []
        let parameters =
            "; hp=\"\(isEncrypted ? "cipher" : "clear")\""
            + (hasLegacyDisplay ? "; hp-legacy-display=\"1\"" : "")
        let described = content.fields.map { field in
            field.is("Content-Type")
                ? MailHeader.Field(field.name, withoutParameters(field.value) + parameters) : field
        }
        return (outer, MailHeader(header.fields + records + described))
    }

    private static func hiding(_ header: MailHeader) -> MailHeader {
        MailHeader(
            header.fields.compactMap { field in
                guard let hidden = hiddenFields[field.name.lowercased()] else { return field }
                return hidden.map { MailHeader.Field(field.name, $0) }
            })
    }

    /// The value of a Content-Type field without the parameters of an earlier header protection.
    static func withoutParameters(_ value: String) -> String {
        var rest = value.unicodeScalars[...]
        guard ContentType.mediaType(&rest) != nil else { return value }
        var text = String.UnicodeScalarView()
        var start = value.startIndex
        for parameter in ContentType.parameters(&rest).pairs
        where ["hp", "hp-legacy-display", "protected-headers"].contains(parameter.name) {
            text += value.unicodeScalars[start..<parameter.range.lowerBound]
            start = parameter.range.upperBound
        }
        return String(text + value.unicodeScalars[start...])
    }

    /// The lines at the start of an encrypted text that repeat the hidden fields, for mail programs that do not support
    /// header protection (RFC 9788, 5.2.2); empty if no field is hidden.
    package static func legacyDisplay(of header: MailHeader) -> String {
        let lines = header.fields.filter { hiddenFields.keys.contains($0.name.lowercased()) }.map { field in
            "\(field.name): \(MailText.decoded(headerValue: field.value.replacing("\r\n", with: "")))\n"
        }
        return lines.isEmpty ? "" : lines.joined() + "\n"
    }
}
