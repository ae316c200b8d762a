package import Foundation
internal import KeyShareProvider
package import OpenSSL
package import SecretMemory

extension Provisioner {
    /// Makes one test vector below the authorities of the keychain; stores nothing but new authorities.
    ///
    /// - Parameters:
    ///   - vector: the test vector to make.
    ///   - person: whose credential is made.
    ///   - date: the moment at which a certificate is valid, unless the test vector says otherwise.
    ///   - algorithm: the algorithm of keys, new authorities' included.
    ///   - password: the password of a file.
    ///   - locations: where certificates say that the PKI answers.
    ///   - source: where keys, signatures, serial numbers and salts come from.
    /// - Throws: `KeychainError` where authorities can be neither read nor stored; `OpenSSLError`,
    ///   `CertificateError`, `PKCS12Error` or `ZipError` where material cannot be made.
    package func make(
        _ vector: TestVector, for person: TestPerson, at date: Date, algorithm: KeyAlgorithm,
        password: SecretBytes, locations: PKILocations, from source: RandomSource
    ) throws -> (made: MadeTestVector, use: AuthorityUse) {
        let (authority, use) = try authority(
            covering: TestVectorSuite.span(at: date), algorithm: algorithm, locations: locations, from: source
        )
        let context = TestVectorContext(
            authority: authority, person: person, date: date, algorithm: algorithm, password: password,
            locations: locations, source: source)
        return (try vector.make(in: context), use)
    }
}
