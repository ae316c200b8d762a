package import Foundation
internal import KeyShareProvider
package import OpenSSL
package import SecretMemory
package import TestCredentials

extension Provisioner {
    /// Generates one test vector, whose certificates are issued by the authorities of the keychain. New authorities are
    /// created and stored if necessary; nothing else is stored.
    ///
    /// - Parameters:
    ///   - vector: The test vector to generate.
    ///   - person: The holder of the credential.
    ///   - date: The time at which certificates are valid, unless the test vector defines another.
    ///   - algorithm: The algorithm of all keys, including those of new authorities.
    ///   - password: The password of a file.
    ///   - locations: The URLs of the PKI in the certificates.
    ///   - source: The randomness of keys, signatures, serial numbers and salts.
    /// - Throws: `KeychainError` if authorities can be neither read nor stored. `OpenSSLError`, `CertificateError`,
    ///   `PKCS12Error` or `ZipError` if the material cannot be generated.
    package func make(
        _ vector: TestVector, for person: TestPerson, at date: Date, algorithm: KeyAlgorithm,
        password: SecretBytes, locations: PKILocations, from source: RandomSource
    ) throws -> (made: MadeTestVector, use: AuthorityUse) {
        let (authority, use) = try ProvisioningStore(store).authority(
            covering: TestVectorSuite.span(at: date), algorithm: algorithm, locations: locations, from: source
        )
        let context = TestVectorContext(
            authority: authority, person: person, date: date, algorithm: algorithm, password: password,
            locations: locations, source: source)
        return (try vector.make(in: context), use)
    }
}
