import Foundation
import OpenSSL
import StandardExtensions
import TestSupport
import Testing

@Suite("Reproducible results from a seed", .timeLimit(.minutes(10)))
struct SeedTests {
    private static let key = Seed("7").child("key")
    private static let golden = "050ADAA747007865FB150FDC473303831A9E702754247AF84F74342D22046EDD"

    @Test(
        "A seed always produces the same key, and each child seed produces a different key",
        arguments: KeyAlgorithm.allCases)
    func keys(algorithm: KeyAlgorithm) throws {
        let first = try PrivateKey.generate(algorithm, seed: Self.key).pkcs8()
        #expect(try PrivateKey.generate(algorithm, seed: Self.key).pkcs8() == first)
        #expect(try PrivateKey.generate(algorithm, seed: Self.key.child("other")).pkcs8() != first)
        #expect(try PrivateKey.generate(algorithm).pkcs8() != first)
    }

    @Test(
        "A certificate that is signed with a seed is the same on every thread",
        arguments: KeyAlgorithm.allCases)
    func certificates(algorithm: KeyAlgorithm) async throws {
        let key = try PrivateKey.generate(algorithm, seed: Self.key)
        let template = try TestPKI.template()
        let issuer = try CertificateIssuer(selfSigned: template, privateKey: key, seed: Seed("root"))
        let first = try issuer.issue(template, to: key, seed: Seed("leaf"))
        let others = try await withThrowingTaskGroup(of: Certificate.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    _ = try issuer.issue(template, to: key, seed: Seed("noise"))
                    return try issuer.issue(template, to: key, seed: Seed("leaf"))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(others == [Certificate](repeating: first, count: 8))
        let verifier = TrustingVerifier(trustAnchors: [issuer.certificate])
        #expect(issuer.certificate.publicKey == key.publicKey)
        #expect(verifier.verify(issuer.certificate, at: TestPKI.now).isValid)
    }

    @Test("A signature is determined by its seed, and is random without a seed")
    func signatures() throws {
        let template = try TestPKI.template()
        let seeded = try TestPKI.root.issue(template, to: TestPKI.leafKey, seed: Seed("leaf"))
        #expect(try TestPKI.root.issue(template, to: TestPKI.leafKey, seed: Seed("leaf")) == seeded)
        #expect(try TestPKI.root.issue(template, to: TestPKI.leafKey) != seeded)
        #expect(try TestPKI.root.issue(template, to: TestPKI.leafKey, seed: Seed("other")) != seeded)
    }

    @Test("A known seed produces the same key on every machine")
    func golden() throws {
        let key = try PrivateKey.generate(.p256, seed: Seed("1"))
        #expect(Digest.sha256(key.publicKey.spki).upperHex == Self.golden)
    }

    @Test("Two generators with the same seed return the same numbers, and the numbers do not repeat")
    func numbers() {
        var first = Seed("1").generator()
        var second = Seed("1").generator()
        let numbers = (0..<100).map { _ in first.next() }
        #expect(numbers == (0..<100).map { _ in second.next() })
        #expect(Set(numbers).count == 100)
    }
}
