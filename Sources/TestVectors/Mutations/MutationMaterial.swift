internal import Foundation
internal import OpenSSL
internal import SecretMemory
internal import TestCredentials

/// The valid files that mutations start from, with the authorities of their certificates.
package struct MutationMaterial: Sendable {
    /// The valid files. The first one is the simplest.
    package let seeds: [MutationSeed]
    /// The authorities' certificates, in PEM.
    package let trust: String
    /// The authorities' revocation lists, in PEM.
    package let revocations: String

    /// Generates the material.
    ///
    /// - Throws: `OpenSSLError` or `CertificateError` if the material cannot be generated.
    package init(_ settings: TestVectorSuite.Settings) throws {
        let context = try TestVectorContext(settings)
        seeds = try MutationSeed.all(in: context)
        trust = context.authority.issuers.map(\.issuer.certificate.pem).joined()
        revocations = try context.authority.revocationLists(
            revoked: [], at: settings.date, from: settings.source
        ).map(\.pem).joined()
    }
}
