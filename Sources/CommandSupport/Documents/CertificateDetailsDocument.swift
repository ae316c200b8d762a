package import OpenSSL
internal import StandardExtensions

/// The parts of a certificate that only `inspect` shows.
package struct CertificateDetailsDocument: Codable, Sendable {
    /// The basic constraints (RFC 5280, 4.2.1.9).
    package struct BasicConstraints: Codable, Sendable {
        /// Whether the subject is an authority.
        package let authority: Bool
        /// The maximum number of authorities below; nil for no limit.
        package let pathLength: Int?
    }

    /// The kind of authority: `root` or `certification authority`; nil for an end entity.
    package let authority: String?
    /// The version: 3 for a certificate with extensions.
    package let version: Int
    /// The signature's algorithm by name.
    package let signatureAlgorithm: String
    /// The basic constraints; nil if the extension is absent.
    package let basicConstraints: BasicConstraints?
    /// The subject key identifier in hexadecimal digits; nil if absent.
    package let subjectKeyIdentifier: String?
    /// The authority key identifier in hexadecimal digits; nil if absent.
    package let authorityKeyIdentifier: String?
    /// The SHA-256 of the public key (SubjectPublicKeyInfo) in hexadecimal digits.
    package let publicKeySHA256: String
    /// The URLs of revocation lists.
    package let crlURLs: [String]
    /// The URLs of OCSP responders.
    package let responderURLs: [String]
    /// The URLs of the issuer's certificate.
    package let issuerURLs: [String]
    /// The extensions, in order.
    package let extensions: [ExtensionDocument]

    init(_ certificate: Certificate) {
        let isAuthority = certificate.isCertificateAuthority
        authority = isAuthority ? (certificate.isSelfIssued ? "root" : "certification authority") : nil
        version = certificate.version
        signatureAlgorithm = certificate.signatureAlgorithm
        let all = certificate.extensions
        basicConstraints =
            all.contains { $0.oid == "2.5.29.19" }
            ? BasicConstraints(
                authority: isAuthority, pathLength: AuthorityConstraints(of: certificate).pathLength) : nil
        subjectKeyIdentifier = certificate.subjectKeyIdentifier?.upperHex
        authorityKeyIdentifier = certificate.authorityKeyIdentifier?.upperHex
        publicKeySHA256 = Digest.sha256(certificate.publicKey.spki).upperHex
        crlURLs = certificate.distributionPoints.flatMap(\.urls)
        responderURLs = certificate.responderURLs
        issuerURLs = certificate.issuerURLs
        extensions = all.map { ExtensionDocument($0) }
    }

    /// The names and values for text output.
    var fields: [(name: String, value: String)] {
        var fields = [("version", "\(version)"), ("signature algorithm", signatureAlgorithm)]
        if let basicConstraints {
            let length = basicConstraints.pathLength.map { ", path length \($0)" } ?? ""
            fields.append(
                ("basic constraints", (basicConstraints.authority ? "authority" : "end entity") + length))
        }
        if let subjectKeyIdentifier { fields.append(("subject key identifier", subjectKeyIdentifier)) }
        if let authorityKeyIdentifier { fields.append(("authority key identifier", authorityKeyIdentifier)) }
        fields.append(("public key SHA-256", publicKeySHA256))
        fields += crlURLs.map { ("revocation list URL", $0) }
        fields += responderURLs.map { ("OCSP URL", $0) }
        fields += issuerURLs.map { ("issuer URL", $0) }
        if !extensions.isEmpty { fields.append(("extensions", ExtensionDocument.text(extensions))) }
        return fields.map { (name: $0.0, value: $0.1) }
    }
}

/// An extension of a certificate or a revocation list: its type and whether it is critical.
package struct ExtensionDocument: Codable, Sendable {
    /// The type as a dotted identifier.
    package let oid: String
    /// The name of the type; null if unknown.
    @Nullable package private(set) var name: String?
    /// Whether programs that do not know the extension must reject the object.
    package let critical: Bool

    /// Creates the document of an extension, without its contents.
    package init(_ item: CertificateExtension) {
        oid = item.oid
        critical = item.isCritical
        name = NamedIdentifier.extension(item.oid).name
    }

    /// Several extensions as text, at most fifty.
    package static func text(_ extensions: [ExtensionDocument]) -> String {
        let shown = extensions.prefix(50).map { ($0.name ?? $0.oid) + ($0.critical ? " (critical)" : "") }
        let rest = extensions.count - shown.count
        return shown.joined(separator: ", ") + (rest > 0 ? ", and \(rest) more" : "")
    }
}
