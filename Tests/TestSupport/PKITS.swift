package import Foundation
package import OpenSSL
package import PathValidation

/// NIST's Public Key Interoperability Test Suite, if it is available in the corpora.
package enum PKITS {
    /// One run of the suite: certificates, lists, policy inputs and the expected verdict.
    package struct Case: Decodable, Sendable, CustomStringConvertible {
        /// The number of the test, such as `4.1.1`.
        package let test: String
        /// The title of the test.
        package let title: String
        /// The names of the certificates, from the trust anchor to the certificate to validate.
        package let certificates: [String]
        /// The names of the revocation lists.
        package let crls: [String]
        /// The acceptable policies.
        package let policies: [String]
        /// Whether a policy is required (RFC 5280, 6.1.1).
        package let explicitPolicy: Bool
        /// Whether policies must not be mapped.
        package let inhibitPolicyMapping: Bool
        /// Whether anyPolicy is not accepted.
        package let inhibitAnyPolicy: Bool
        /// Whether the path is valid.
        package let valid: Bool

        /// The number and the title of the test.
        package var description: String { "\(test) \(title)" }
    }

    /// The folder of the suite.
    package static let folder = Corpora.folder + "/pkits-path"
    /// The reason for skipping the tests.
    package static let skipped =
        "the corpora next to the package contain no pkits-path (KEYSHARE_CORPORA can name another folder)"
    /// 2011-04-15 00:00:00 UTC, at which the suite's certificates are valid.
    package static let date = Date(timeIntervalSince1970: 1_302_825_600)

    /// The runs; empty if the suite is not available.
    package static let cases: [Case] = {
        guard let data = FileManager.default.contents(atPath: folder + "/cases.json") else { return [] }
        return (try? JSONDecoder().decode([Case].self, from: data)) ?? []
    }()

    fileprivate static func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + path)))
    }
}

extension PKITS.Case {
    /// Reads the certificates.
    package func readCertificates() throws -> [Certificate] {
        try certificates.map { try Certificate(der: PKITS.bytes("certs/\($0).crt")) }
    }

    /// Reads the revocation lists.
    package func readLists() throws -> [EncodedRevocationList] {
        try crls.map { try EncodedRevocationList(der: PKITS.bytes("crls/\($0).crl")) }
    }

    /// The verifier with the policy inputs of the run. The keys of the suite are short.
    package var verifier: CertificateVerifier {
        var verifier = CertificateVerifier()
        verifier.securityLevel = 0
        if policies != ["2.5.29.32.0"] { verifier.acceptedPolicies = policies }
        verifier.requiresExplicitPolicy = explicitPolicy
        verifier.inhibitsPolicyMapping = inhibitPolicyMapping
        verifier.inhibitsAnyPolicy = inhibitAnyPolicy
        return verifier
    }

    /// The pool of certificates for the last one of `certificates`, which trusts the first one.
    package static func pool(_ certificates: [Certificate]) -> CertificatePool {
        CertificatePool(trusted: [certificates[0]], untrusted: Array(certificates.dropFirst().dropLast()))
    }
}
