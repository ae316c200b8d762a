internal import Foundation
internal import KeySharing
package import OpenSSL
internal import StandardExtensions

/// The names and object identifiers of test certificates. Each name identifies test material, and no real authority
/// uses it.
package enum TestNames {
    /// Creates the subject `C=US, O=Test U.S. Government, OU=Test DoD, OU=Test PKI`, followed by the common name.
    ///
    /// - Throws: `CertificateError` if the common name cannot be encoded.
    package static func subject(_ commonName: String) throws(CertificateError) -> DistinguishedName {
        try DistinguishedName([
            .init("2.5.4.6", "US"), .init("2.5.4.10", "Test U.S. Government"), .init("2.5.4.11", "Test DoD"),
            .init("2.5.4.11", "Test PKI"), .init("2.5.4.3", commonName),
        ])
    }

    /// The policy of the issuing authorities, which matches any policy (anyPolicy, RFC 5280, section 4.2.1.4).
    package static let anyPolicy = "2.5.29.32.0"

    /// The extended key usages, keyed by their names in profiles (RFC 5280, section 4.2.1.12, RFC 4556, Microsoft).
    static let purposes = [
        "clientAuthentication": ExtendedKeyUsage.clientAuthentication,
        "emailProtection": ExtendedKeyUsage.emailProtection,
        "documentSigning": "1.3.6.1.4.1.311.10.3.12",
        "smartcardLogon": "1.3.6.1.4.1.311.20.2.2",
        "pkinitClient": "1.3.6.1.5.2.3.4",
    ]
}

/// Generates the serial numbers of test certificates.
package enum SerialNumber {
    /// Draws a serial number of sixteen octets, positive and without a leading zero (RFC 5280 section 4.1.2.2).
    ///
    /// A run that continues an interrupted one recognizes the generated identities by their serial numbers.
    package static func random(using random: inout some RandomNumberGenerator) -> [UInt8] {
        [UInt8.random(in: 1...127, using: &random)]
            + (1..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
}

/// The URLs of the PKI's files and of its responder, as they appear in certificates.
package struct PKILocations: Sendable, Hashable {
    /// The beginning of the URLs of certificates and revocation lists, without a trailing slash.
    let repository: String
    /// The URL of the OCSP responder.
    let responder: String

    /// URLs under host names that are reserved for examples (RFC 2606), so that no server exists.
    package static let example = PKILocations(
        repository: "http://pki.mil.example", responder: "http://ocsp.mil.example")

    /// Creates locations from the URLs of the repository and the responder.
    init(repository: String, responder: String) {
        self.repository = repository
        self.responder = responder
    }

    /// Creates locations below one base URL, such as `http://127.0.0.1:8080`.
    package init(base: String) {
        self.init(repository: base, responder: base + Self.responderPath)
    }

    /// Creates the locations with the responder URL `responder`. Returns nil if provisioning does not generate this
    /// URL.
    init?(responder: String) {
        if responder == Self.example.responder {
            self = .example
        } else if responder.hasSuffix(Self.responderPath) {
            self.init(base: String(responder.dropLast(Self.responderPath.count)))
        } else {
            return nil
        }
    }

    /// The path of the responder below a base URL.
    static let responderPath = "/ocsp"
}

/// A file in the repository of a PKI.
enum PKIFile: Sendable, Hashable, CaseIterable {
    case certificate(TestAuthorityRole)
    case revocationList(TestAuthorityRole)

    /// All files of all authorities.
    static var allCases: [PKIFile] {
        TestAuthorityRole.allCases.flatMap { [.certificate($0), .revocationList($0)] }
    }

    /// The authority that the file belongs to.
    var role: TestAuthorityRole {
        switch self {
        case .certificate(let role), .revocationList(let role): role
        }
    }

    /// The path of the file in the repository. It consists of the authority's name and the start of its key identifier,
    /// because one keychain can contain two PKIs with equal names.
    func path(_ authority: Certificate) -> String {
        let key = Array((authority.subjectKeyIdentifier ?? []).prefix(4)).upperHex
        return path(named: authority.subject.commonName ?? "", "-" + key)
    }

    /// The path of the file in certificates of earlier versions, without a key identifier.
    ///
    /// - Parameter number: The number of the PKI.
    func earlierPath(_ number: Int) -> String { path(named: role.commonName(number), "") }

    private func path(named name: String, _ suffix: String) -> String {
        let stem = name.filter { $0 != " " }.uppercased() + suffix
        return switch self {
        case .certificate: "/sign/\(stem).cer"
        case .revocationList: "/crl/\(stem).crl"
        }
    }
}
