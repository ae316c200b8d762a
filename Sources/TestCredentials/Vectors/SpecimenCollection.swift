internal import SecretMemory
package import Foundation
package import OpenSSL
internal import KeySharing

/// Files of every specimen, with a manifest that says what a correct consumer makes of each.
package struct SpecimenCollection: Sendable {
    /// What the manifest says of one file.
    package struct Entry: Sendable, Codable, Hashable {
        package let file: String
        /// What is to be given as the password.
        package let password: String
        package let isFault: Bool
        package let sentence: String
        package let duty: String
        package let expectation: Specimen.Expectation
    }

    /// What stands in the manifest.
    package struct Manifest: Sendable, Codable, Hashable {
        /// The moment for which the expectations hold.
        package let date: String
        /// The file of the authorities, in PEM.
        package let trust: String
        /// The file of their revocation lists, in PEM.
        package let revocations: String
        package let files: [Entry]
    }

    /// Every file's name and bytes, the manifest among them.
    package let files: [(name: String, bytes: [UInt8])]
    package let manifest: Manifest

    /// What the authorities of specimens must be valid for.
    package static func span(at date: Date) -> Range<Date> {
        Calendar.utc.adding(years: -10, to: date)..<Calendar.utc.adding(years: 5, to: date)
    }

    /// Makes every specimen.
    ///
    /// - Parameter password: a text, because the manifest tells it.
    /// - Throws: what making keys, certificates and files may throw.
    package init(at date: Date, password: String, from source: RandomSource, width: Int) async throws {
        var random = source.child("person").generator()
        let shop = Workshop(
            authority: try TestAuthority(
                algorithm: .rsa(bits: 2048), validity: Self.span(at: date), from: source),
            person: TestPerson(using: &random), date: date, algorithm: .p256,
            password: SecretBytes(utf8: password), source: source)
        let specimens = Specimen.sound + Specimen.faults
        let made = try await specimens.concurrentMap(width: width) { specimen in
            let bench = shop.bench(for: specimen.name)
            let product = try specimen.make(bench)
            var revoked: [Certificate] = []
            if case .identities(let identities, isRevoked: true) = product {
                revoked = identities.map(\.certificate)
            }
            let (bytes, suffix) = try bench.bytes(of: product)
            return (name: "\(specimen.name).\(suffix)", bytes: bytes, revoked: revoked)
        }
        let lists = try shop.authority.revocationLists(
            revoked: made.flatMap(\.revoked).map { IssuanceRecord($0, revoked: date) }, at: date, from: source
        )
        let faults = Set(Specimen.faults.map(\.name))
        manifest = Manifest(
            date: date.formatted(.iso8601), trust: "trust.pem", revocations: "revocations.pem",
            files: zip(specimens, made).map { specimen, made in
                Entry(
                    file: made.name, password: specimen.isUnderEmptyPassword ? "" : password,
                    isFault: faults.contains(specimen.name),
                    sentence: specimen.sentence, duty: specimen.duty, expectation: specimen.expectation)
            })
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let authorities = shop.authority.issuers.map(\.issuer.certificate.pem).joined()
        files =
            made.map { ($0.name, $0.bytes) } + [
                (manifest.trust, Array(authorities.utf8)),
                (manifest.revocations, Array(lists.map(\.pem).joined().utf8)),
                ("manifest.json", Array(try encoder.encode(manifest)) + [0x0A]),
            ]
    }
}
