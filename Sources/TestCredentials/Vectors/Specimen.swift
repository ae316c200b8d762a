internal import CertificateReading
internal import KeySharing
package import OpenSSL

/// A test file by name: how it is made, and what a correct consumer makes of it.
package struct Specimen: Sendable {
    /// What a consumer's commands say of it.
    package struct Expectation: Sendable, Hashable, Codable {
        /// The exit code of importing the file.
        package var importing: Int
        /// The types that the import insists on; none for an import without that.
        package var requiring: [String] = []
        /// How many identities the import brings.
        package var identities: Int
        /// The exit code of verifying what was imported; nil where nothing was.
        package var verifying: Int?
        /// What `inspect` finds odd about the certificates, by code.
        package var findings: [String] = []

        /// The import succeeds.
        static func accepted(
            _ identities: Int = 1, verifying: Int = 0, findings: [CertificateFinding.Code] = []
        ) -> Expectation {
            Expectation(
                importing: 0, identities: identities, verifying: verifying, findings: findings.map(\.rawValue)
            )
        }

        /// The import brings nothing.
        static func refused(_ code: Int) -> Expectation {
            Expectation(importing: code, identities: 0)
        }

        /// The import brings an identity, though not one of the type that its holder needs.
        static func notA(_ type: String, verifying: Int = 0) -> Expectation {
            Expectation(importing: 6, requiring: [type], identities: 1, verifying: verifying)
        }
    }

    /// What a specimen consists of.
    package enum Product: Sendable {
        /// Identities that a keychain can hold; `isRevoked` puts them on their issuer's list.
        case identities([TestIdentity], isRevoked: Bool = false)
        /// A file that no provider would publish.
        case file([UInt8], suffix: String = "p12")
    }

    package let name: String
    /// One sentence about it.
    package let sentence: String
    /// What a correct consumer does.
    package let duty: String
    package let expectation: Expectation
    /// Whether the file is under the empty password and not under that of the others.
    var isUnderEmptyPassword = false
    /// Makes it.
    package let make: @Sendable (Workshop) throws -> Product

    init(
        _ name: String, _ sentence: String, _ duty: String, _ expectation: Expectation,
        make: @escaping @Sendable (Workshop) throws -> Product
    ) {
        self.name = name
        self.sentence = sentence
        self.duty = duty
        self.expectation = expectation
        self.make = make
    }

    /// Those whose fault is the certificate's, so that a keychain can hold them.
    static let certificateFaults: [Specimen] =
        CertificateFaults.validity + CertificateFaults.usage + CertificateFaults.names
        + CertificateFaults.encoding

    /// Every faulty one, by kind.
    package static let faults: [Specimen] = certificateFaults + FileFaults.all + ArchiveFaults.all

    /// The fault of a name; nil where there is none.
    package static func fault(named name: String) -> Specimen? {
        faults.first { $0.name == name }
    }
}

/// A certificate with a private key, its own or not.
package struct TestIdentity: Sendable {
    package let certificate: Certificate
    package let privateKey: PrivateKey
    /// The certificates above it that a file of it carries.
    package var chain: [Certificate] = []

    package init(certificate: Certificate, privateKey: PrivateKey) {
        self.certificate = certificate
        self.privateKey = privateKey
    }
}
