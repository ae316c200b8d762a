internal import Foundation
internal import KeySharing
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

    /// Any policy (RFC 5280 4.2.1.4): what the issuing authorities are good for.
    static let anyPolicy = "2.5.29.32.0"

    /// Extended key usages by the names that profiles use.
    static let purposes = [
        "clientAuthentication": ExtendedKeyUsage.clientAuthentication,
        "emailProtection": ExtendedKeyUsage.emailProtection,
        "documentSigning": "1.3.6.1.4.1.311.10.3.12",
        "smartcardLogon": "1.3.6.1.4.1.311.20.2.2",
        "pkinitClient": "1.3.6.1.5.2.3.4",
    ]
}

/// Where certificates say that the PKI's files and its responder are.
package struct PKILocations: Sendable, Hashable {
    /// The start of URLs to certificates and revocation lists, without a slash at the end.
    let repository: String
    let responder: String

    /// Under names that are reserved for examples (RFC 2606): nothing answers there.
    package static let example = PKILocations(
        repository: "http://pki.mil.example", responder: "http://ocsp.mil.example")

    init(repository: String, responder: String) {
        self.repository = repository
        self.responder = responder
    }

    /// Below one address, such as `http://127.0.0.1:8080`.
    package init(base: String) {
        self.init(repository: base, responder: base + Self.responderPath)
    }

    /// The locations whose responder has a URL; nil where it is none of those that provisioning writes.
    init?(responder: String) {
        if responder == Self.example.responder {
            self = .example
        } else if responder.hasSuffix(Self.responderPath) {
            self.init(base: String(responder.dropLast(Self.responderPath.count)))
        } else {
            return nil
        }
    }

    /// Where the responder is below a base.
    static let responderPath = "/ocsp"
}

/// A file of a PKI's repository.
enum PKIFile: Sendable, Hashable, CaseIterable {
    case certificate(TestAuthorityRole)
    case revocationList(TestAuthorityRole)

    static var allCases: [PKIFile] {
        TestAuthorityRole.allCases.flatMap { [.certificate($0), .revocationList($0)] }
    }

    /// The authority that it is of.
    var role: TestAuthorityRole {
        switch self {
        case .certificate(let role), .revocationList(let role): role
        }
    }

    /// Its place below the repository's address: the authority's name, and the start of its key's identifier.
    /// The PKIs of two keychains have the same names, and may come into one.
    func path(_ authority: Certificate) -> String {
        let key = Array((authority.subjectKeyIdentifier ?? []).prefix(4)).upperHex
        return path(named: authority.subject.commonName ?? "", "-" + key)
    }

    /// The place that certificates of earlier versions name, for the PKI of a number.
    func earlierPath(_ number: Int) -> String { path(named: role.commonName(number), "") }

    private func path(named name: String, _ suffix: String) -> String {
        let stem = name.filter { $0 != " " }.uppercased() + suffix
        return switch self {
        case .certificate: "/sign/\(stem).cer"
        case .revocationList: "/crl/\(stem).crl"
        }
    }
}
