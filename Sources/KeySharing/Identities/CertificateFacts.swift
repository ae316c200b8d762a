/// The properties of a certificate that the classification rules need: the key usage, the kind of key and the kinds of
/// names (docs/rules.md R5, R9).
///
/// An app can extract these properties with any certificate parser. No rule needs the certificate itself.
///
/// ```swift
/// let facts = CertificateFacts(
///     keyUsage: [.digitalSignature, .nonRepudiation], hasRFC822Name: true, hasUTF8OtherName: true)
/// let type = Classification(facts, under: .keySharing2025).type  // .signature
/// ```
public struct CertificateFacts: Sendable, Hashable {
    /// The kinds of subject alternative names that alias sharing distinguishes (docs/rules.md R9.6 to R9.10).
    public enum AlternativeName: Sendable, Hashable {
        /// An e-mail address in ASCII without NUL. Android ignores all others, so a parser must omit them.
        case rfc822
        /// An otherName. The length is that of the DER of the whole GeneralName, in bytes, including its tag.
        case otherName(encodedLength: Int)
        /// A name of any other kind.
        case other
    }

    /// The key usage extension (RFC 5280, 4.2.1.3), or nil if the certificate has no such extension.
    public var keyUsage: KeyUsage?
    /// Whether the key is an elliptic-curve key. For these keys, key agreement counts as encipherment (docs/rules.md
    /// R5.11).
    public var isEllipticCurve: Bool
    /// Whether a subject alternative name is an rfc822Name, that is, an e-mail address.
    public var hasRFC822Name: Bool
    /// Whether an otherName contains a UTF8String, such as a user principal name.
    public var hasUTF8OtherName: Bool
    /// Whether an otherName contains a value of a different type, such as a FASC-N.
    public var hasOtherOtherName: Bool
    /// The subject alternative names in the order of the certificate; empty if the extension is absent or cannot be
    /// decoded. Nil if the order is not known, as in the facts of an ``IdentitySummary``. Only
    /// ``AliasClassification`` needs the order.
    public var alternativeNames: [AlternativeName]?

    /// Creates the facts about a certificate. By default, the key is not an elliptic-curve key, there are no names for
    /// key sharing, and the order of the names is not known.
    public init(
        keyUsage: KeyUsage?, isEllipticCurve: Bool = false, hasRFC822Name: Bool = false,
        hasUTF8OtherName: Bool = false, hasOtherOtherName: Bool = false,
        alternativeNames: [AlternativeName]? = nil
    ) {
        self.keyUsage = keyUsage
        self.isEllipticCurve = isEllipticCurve
        self.hasRFC822Name = hasRFC822Name
        self.hasUTF8OtherName = hasUTF8OtherName
        self.hasOtherOtherName = hasOtherOtherName
        self.alternativeNames = alternativeNames
    }
}

extension CertificateFacts.AlternativeName {
    /// The kind of the name, with the length of an otherName, as text for explanations.
    package var summary: String {
        switch self {
        case .rfc822: "e-mail name"
        case .otherName(let length): "otherName of \(length) bytes"
        case .other: "other kind"
        }
    }
}

extension CertificateFacts {
    /// The key usage and the kinds of names, as text for explanations.
    package var summary: String {
        var names: [String] = []
        if hasRFC822Name { names.append("an e-mail name") }
        if hasUTF8OtherName { names.append("a principal name") }
        if hasOtherOtherName { names.append("another otherName") }
        let usage = keyUsage.map { $0.names.isEmpty ? "empty" : $0.names.joined(separator: ", ") } ?? "absent"
        return
            "key usage \(usage); names: \(names.isEmpty ? "none that affect the type" : names.joined(separator: ", "))"
    }
}
