/// The facts about a certificate that the rules of classification read (docs/rules.md R5).
///
/// An app reads the facts from a certificate with whatever parser it has; no rule needs the certificate
/// itself.
///
/// ```swift
/// let facts = CertificateFacts(
///     keyUsage: [.digitalSignature, .nonRepudiation], hasRFC822Name: true, hasUTF8OtherName: true)
/// let type = Classification(facts, under: .keySharing2025).type  // .signature
/// ```
public struct CertificateFacts: Sendable, Hashable {
    /// The key usage extension (RFC 5280, 4.2.1.3); nil where the certificate has none.
    public var keyUsage: KeyUsage?
    /// Whether the key is an elliptic-curve key, for which key agreement counts as encipherment
    /// (docs/rules.md R5.11).
    public var isEllipticCurve: Bool
    /// Whether a subject alternative name is an rfc822Name: an e-mail address.
    public var hasRFC822Name: Bool
    /// Whether an otherName holds a UTF8String, as a user principal name does.
    public var hasUTF8OtherName: Bool
    /// Whether an otherName holds anything else, as a FASC-N does.
    public var hasOtherOtherName: Bool

    /// Makes the facts about a certificate; a name that is left out is one that the certificate does not
    /// have.
    public init(
        keyUsage: KeyUsage?, isEllipticCurve: Bool = false, hasRFC822Name: Bool = false,
        hasUTF8OtherName: Bool = false, hasOtherOtherName: Bool = false
    ) {
        self.keyUsage = keyUsage
        self.isEllipticCurve = isEllipticCurve
        self.hasRFC822Name = hasRFC822Name
        self.hasUTF8OtherName = hasUTF8OtherName
        self.hasOtherOtherName = hasOtherOtherName
    }
}

extension CertificateFacts {
    /// Key usage and kinds of names in words, for explanations.
    package var summary: String {
        var names: [String] = []
        if hasRFC822Name { names.append("an e-mail name") }
        if hasUTF8OtherName { names.append("a principal name") }
        if hasOtherOtherName { names.append("another otherName") }
        let usage = keyUsage.map { $0.names.isEmpty ? "empty" : $0.names.joined(separator: ", ") } ?? "absent"
        return
            "key usage \(usage); names: \(names.isEmpty ? "none of interest" : names.joined(separator: ", "))"
    }
}
