internal import Synchronization

/// The header fields inside the cryptographic protection of a message, compared with those outside (RFC 9788).
package struct HeaderProtection: Sendable {
    /// The ways in which header fields are protected. The raw values are the names in JSON documents.
    package enum Form: String, Sendable {
        /// The fields are in the protected part, and all of them are also outside (`hp="clear"`, RFC 9788, 2.1.1).
        case clear
        /// The fields are in the protected part, and some of them are hidden outside (`hp="cipher"`).
        case cipher
        /// The protected part is a whole message (message/rfc822, RFC 8551, 3.1).
        case wrapped
        /// The fields are in the protected part, in the form of the drafts of RFC 9788 (`protected-headers="v1"`).
        case draft
    }

    /// A field whose values inside and outside differ.
    package struct Difference: Sendable, Hashable {
        /// The kinds of difference. The raw values are the names in JSON documents.
        package enum Kind: String, Sendable {
            /// The sender hid the value outside, and recorded that in HP-Outer (RFC 9788, 2.2).
            case hidden
            /// The values differ, and the sender did not record that.
            case changed
            /// The field is not among the protected fields.
            case added
            /// The field is missing outside.
            case removed
        }

        /// The kind of difference.
        package let kind: Kind
        /// The name of the field, with the capitalization of the message.
        package let name: String
        /// The protected value; nil if there is none. Its end is missing if it is long (`MailLimits.shownValue`).
        package let inner: String?
        /// The unprotected value; nil if there is none. Its end is missing if it is long.
        package let outer: String?

        /// Creates a difference.
        package init(_ kind: Kind, _ name: String, inner: String?, outer: String?) {
            self.kind = kind
            self.name = name
            self.inner = inner.map(MailText.shortened)
            self.outer = outer.map(MailText.shortened)
        }
    }

    /// The way in which the fields are protected.
    package let form: Form
    /// The protected fields, without those that describe the content.
    package let header: MailHeader
    /// The fields whose values inside and outside differ, in the order of the message.
    package let differences: [Difference]

    /// Compares the fields of a protected part with those of the message around it.
    ///
    /// - Parameters:
    ///   - payload: The header of the protected part, the content of the innermost encryption or signature.
    ///   - wrapped: The header of the message in the protected part, if that is a message.
    ///   - outer: The header of the message; nil for a bare CMS message.
    ///   - isEncrypted: Whether a layer around the protected part is an encryption. Without one, no value is secret, so
    ///     `hp="cipher"` counts as `hp="clear"`, and HP-Outer is ignored.
    /// - Returns: Nil if no header fields are protected.
    init?(payload: MailHeader?, wrapped: MailHeader?, outer: MailHeader?, isEncrypted: Bool) {
        if let wrapped {
            form = .wrapped
            header = wrapped.userFields
        } else if let payload, let parameters = payload.contentType?.parameters {
            switch (parameters["hp"]?.lowercased(), parameters["protected-headers"]) {
            case ("clear", _): form = .clear
            case ("cipher", _): form = isEncrypted ? .cipher : .clear
            case (_, .some): form = .draft
            default: return nil
            }
            header = payload.userFields
        } else {
            return nil
        }
        let recorded = MailHeader(
            form == .cipher
                ? (payload?.fields ?? []).filter { $0.is("HP-Outer") }.compactMap(Self.recordedField) : [])
        let (inner, isCipher) = (header, form == .cipher)
        differences = outer.map { Self.compare(inner, $0, recorded, isCipher: isCipher) } ?? []
    }

    /// The field that HP-Outer records, such as `Subject: [...]`.
    private static func recordedField(_ field: MailHeader.Field) -> MailHeader.Field? {
        guard let colon = field.value.firstIndex(of: ":") else { return nil }
        return MailHeader.Field(
            String(field.value[..<colon]).trimmedOfBlanks,
            String(field.value[field.value.index(after: colon)...]).trimmedOfBlanks)
    }

    private static func compare(
        _ inner: MailHeader, _ outer: MailHeader, _ recorded: MailHeader, isCipher: Bool
    ) -> [Difference] {
        let (innerTexts, outerTexts, recordedTexts) = (
            inner.decoded.texts, outer.decoded.texts, recorded.decoded.texts
        )
        var differences: [Difference] = []
        var seen: Set<String> = []
        for field in inner.fields {
            let name = field.name.lowercased()
            guard seen.insert(name).inserted else { continue }
            let (inside, outside) = (innerTexts[name], outerTexts[name])
            if inside == outside { continue }
            let kind: Difference.Kind =
                isCipher && outside == recordedTexts[name]
                ? .hidden : outside == nil ? .removed : .changed
            differences.append(Difference(kind, field.name, inner: inside, outer: outside))
        }
        for (name, key) in outer.decoded.shownNames where seen.insert(key).inserted {
            differences.append(Difference(.added, name, inner: nil, outer: outerTexts[key]))
        }
        return differences
    }
}

extension MailHeader {
    /// The fields that describe the message, without those that describe its content (RFC 9788, 1.4, calls these
    /// structural) or record outer fields.
    package var userFields: MailHeader {
        MailHeader(
            fields.filter {
                !$0.name.lowercased().hasPrefix("content-") && !$0.is("MIME-Version") && !$0.is("HP-Outer")
            }, lineAmbiguity: lineAmbiguity)
    }
}

/// The fields of a header, decoded for comparison when they are first needed. All copies of a header use the same
/// instance, because the header of a message is compared with that of each of its parts.
final class DecodedFields: Sendable {
    private struct Contents {
        /// All values of each field, keyed by name in lower case.
        let texts: [String: String]
        /// The names of the fields that are shown to users, without duplicates, also in lower case.
        let shownNames: [(name: String, key: String)]
    }

    private let fields: [MailHeader.Field]
    private let contents = Mutex<Contents?>(nil)

    init(_ fields: [MailHeader.Field]) { self.fields = fields }

    var texts: [String: String] { decoded.texts }
    var shownNames: [(name: String, key: String)] { decoded.shownNames }

    private var decoded: Contents {
        contents.withLock { contents in
            if let contents { return contents }
            let texts = Dictionary(grouping: fields) { $0.name.lowercased() }.mapValues { fields in
                fields.map { field in
                    MailText.decoded(headerValue: field.value).split(whereSeparator: \.isWhitespace)
                        .joined(separator: " ")
                }.joined(separator: ", ")
            }
            var seen: Set<String> = []
            let shown = fields.filter { $0.isShownToUsers && seen.insert($0.name.lowercased()).inserted }
            let decoded = Contents(
                texts: texts, shownNames: shown.map { ($0.name, $0.name.lowercased()) })
            contents = decoded
            return decoded
        }
    }
}

extension MailHeader.Field {
    /// Whether mail programs show the field, or act on it (RFC 9788, 1.4, user-facing). Others, such as Received, are
    /// added during transport.
    package var isShownToUsers: Bool { Self.shownToUsers.contains(name.lowercased()) }

    private static let shownToUsers: Set = [
        "subject", "from", "to", "cc", "bcc", "date", "reply-to", "followup-to", "sender", "comments",
        "keywords", "message-id", "in-reply-to", "references", "resent-from", "resent-to", "resent-cc",
        "resent-date", "resent-sender",
    ]
}
