package import KeySharing
package import OpenSSL

extension CertificateFacts {
    /// Extracts the key usage, the kind of key and the names from `certificate`, as the classification rules require
    /// (docs/rules.md R5, R9).
    package init(_ certificate: Certificate) {
        self.init(withoutNameOrder: certificate)
        alternativeNames = Self.alternativeNames(certificate)
    }

    /// Extracts the facts that an ``IdentitySummary`` contains: all but the order of the names, which neither the
    /// keychain's lists nor the protocol carry.
    package init(withoutNameOrder certificate: Certificate) {
        self.init(keyUsage: certificate.keyUsage)
        if case .ec = certificate.publicKey.type { isEllipticCurve = true }
        for name in certificate.subjectAlternativeNames {
            switch name {
            case .rfc822Name: hasRFC822Name = true
            case .otherName(_, .utf8String): hasUTF8OtherName = true
            case .otherName: hasOtherOtherName = true
            default: break
            }
        }
    }

    /// Returns the alternative names as Android's certificate parser (Conscrypt) does: none if the extension cannot be
    /// decoded, and no e-mail name that contains NUL or a byte above 127.
    static func alternativeNames(_ certificate: Certificate) -> [AlternativeName] {
        // The extension is read again, because OpenSSL's names do not have the length of their encoding. OpenSSL
        // returns no names if it cannot decode them.
        guard !certificate.subjectAlternativeNames.isEmpty,
            let value = certificate.extensions.first(where: { $0.oid == alternativeNamesType })?.value,
            let names = DERElement(value)?.children
        else { return [] }
        return names.compactMap { name in
            switch name.tag {
            case .context(0): .otherName(encodedLength: name.encoded.count)
            case .context(1): name.octets.allSatisfy { 1...127 ~= $0 } ? .rfc822 : nil
            default: .other
            }
        }
    }

    /// The type of the extension with the subject's alternative names (RFC 5280, 4.2.1.6).
    private static let alternativeNamesType = "2.5.29.17"
}
