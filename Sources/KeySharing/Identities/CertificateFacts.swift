/// What the rules of classification read from a certificate, and nothing else.
public struct CertificateFacts: Sendable, Hashable {
    /// Nil where the certificate has no key usage extension.
    public var keyUsage: KeyUsage?
    /// Whether the key is an elliptic-curve one, for which key agreement takes encipherment's place.
    public var isEllipticCurve: Bool
    public var hasRFC822Name: Bool
    /// Whether an otherName holds a UTF8String, as a user principal name does.
    public var hasUTF8OtherName: Bool
    /// Whether an otherName holds anything else, as a FASC-N does.
    public var hasOtherOtherName: Bool

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
