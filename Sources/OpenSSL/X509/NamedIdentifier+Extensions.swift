extension NamedIdentifier {
    /// Returns the name of an extension of a certificate, a revocation list or one of its entries (RFC 5280 4.2, 5.2
    /// and 5.3).
    package static func `extension`(_ oid: String) -> NamedIdentifier { .init(oid, extensions) }

    /// Returns the name of a signature algorithm.
    package static func signature(_ oid: String) -> NamedIdentifier { .init(oid, [:]) }

    /// The names of extension types. For other types, OpenSSL's names are used.
    package static let extensions = [
        // RFC 5280 4.2.
        "2.5.29.9": "subject directory attributes",
        "2.5.29.14": "subject key identifier",
        "2.5.29.15": "key usage",
        "2.5.29.16": "private key usage period",
        "2.5.29.17": "subject alternative name",
        "2.5.29.18": "issuer alternative name",
        "2.5.29.19": "basic constraints",
        "2.5.29.30": "name constraints",
        "2.5.29.31": "CRL distribution points",
        "2.5.29.32": "certificate policies",
        "2.5.29.33": "policy mappings",
        "2.5.29.35": "authority key identifier",
        "2.5.29.36": "policy constraints",
        "2.5.29.37": "extended key usage",
        "2.5.29.46": "freshest CRL",
        "2.5.29.54": "inhibit anyPolicy",
        "1.3.6.1.5.5.7.1.1": "authority information access",
        "1.3.6.1.5.5.7.1.11": "subject information access",
        // RFC 5280 5.2 and 5.3.
        "2.5.29.20": "CRL number",
        "2.5.29.21": "reason",
        "2.5.29.23": "hold instruction",
        "2.5.29.24": "invalidity date",
        "2.5.29.27": "delta CRL indicator",
        "2.5.29.28": "issuing distribution point",
        "2.5.29.29": "certificate issuer",
        // RFC 3739 3.2.6, RFC 6960 4.2.2.2.1, RFC 7633, RFC 6962 3.3, RFC 4262.
        "1.3.6.1.5.5.7.1.3": "qualified certificate statements",
        "1.3.6.1.5.5.7.48.1.5": "OCSP no check",
        "1.3.6.1.5.5.7.1.24": "TLS feature",
        "1.3.6.1.4.1.11129.2.4.2": "certificate transparency timestamps",
        "1.2.840.113549.1.9.15": "S/MIME capabilities",
        // FIPS 201-3, B.2, and Microsoft's.
        "2.16.840.1.101.3.6.9.1": "PIV interim indicator",
        "1.3.6.1.4.1.311.20.2": "certificate template name",
        "1.3.6.1.4.1.311.21.1": "CA version",
        "1.3.6.1.4.1.311.21.7": "certificate template",
        "1.3.6.1.4.1.311.21.10": "application policies",
        "1.3.6.1.4.1.311.25.2": "security identifier",
        "2.16.840.1.113730.1.1": "Netscape certificate type",
        "2.16.840.1.113730.1.13": "Netscape comment",
    ]
}
