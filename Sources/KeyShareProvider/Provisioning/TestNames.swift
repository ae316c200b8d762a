internal import OpenSSL

/// The names and object identifiers of test certificates; all marked as test material, none a real
/// authority's.
enum TestNames {
    /// `C=US, O=Test U.S. Government, OU=Test DoD, OU=Test PKI`, then the common name.
    static func subject(_ commonName: String) throws(CertificateError) -> DistinguishedName {
        try DistinguishedName([
            .init("2.5.4.6", "US"), .init("2.5.4.10", "Test U.S. Government"), .init("2.5.4.11", "Test DoD"),
            .init("2.5.4.11", "Test PKI"), .init("2.5.4.3", commonName),
        ])
    }

    /// Where certificates say that the PKI's files are; under a name reserved for examples (RFC 2606).
    static let repository = "http://pki.mil.example"
    /// Where they say that an OCSP responder is.
    static let responder = "http://ocsp.mil.example"

    /// Policies of the federal test arc.
    enum Policy {
        /// Any policy (RFC 5280 4.2.1.4): what the issuing authorities are good for.
        static let any = "2.5.29.32.0"
        static let software = "2.16.840.1.101.3.2.1.48.8"
        static let devices = "2.16.840.1.101.3.2.1.48.10"
        static let authentication = "2.16.840.1.101.3.2.1.48.11"
    }

    /// Extended key usages.
    enum Purpose {
        static let clientAuthentication = "1.3.6.1.5.5.7.3.2"
        static let emailProtection = "1.3.6.1.5.5.7.3.4"
        static let documentSigning = "1.3.6.1.4.1.311.10.3.12"
        static let smartcardLogon = "1.3.6.1.4.1.311.20.2.2"
        static let pkinitClient = "1.3.6.1.5.2.3.4"
    }
}
