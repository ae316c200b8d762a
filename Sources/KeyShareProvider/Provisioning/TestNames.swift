internal import Foundation
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
        "clientAuthentication": "1.3.6.1.5.5.7.3.2",
        "emailProtection": "1.3.6.1.5.5.7.3.4",
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

    /// Its place below the repository's address, for the PKI of a number.
    func path(_ number: Int) -> String {
        func stem(_ role: TestAuthorityRole) -> String {
            role.commonName(number).replacingOccurrences(of: " ", with: "").uppercased()
        }
        return switch self {
        case .certificate(let role): "/sign/\(stem(role)).cer"
        case .revocationList(let role): "/crl/\(stem(role)).crl"
        }
    }
}
