import CertificateReading
import CommandSupport
import Diagnostics
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL
import Scenarios
import TestCredentials
import TestVectors

/// `provision --fault`: adds defective test vectors to the keychain, or writes one to a file.
struct FaultProvisioning {
    /// The test vectors to create, in order.
    let vectors: [TestVector]
    let provision: Provision

    /// Returns the defective test vector with this name.
    ///
    /// - Throws: `ProvisioningError`: `.noSuchFault`.
    static func vector(named name: String) throws -> TestVector {
        guard let vector = TestVector.defective(named: name) else {
            throw ProvisioningError(
                .noSuchFault, "unknown fault \u{201C}\(name)\u{201D}",
                remedy: NearMatch.of(name, among: TestVector.defective.map(\.name)).map { .nearestName($0) })
        }
        return vector
    }

    func run(_ store: ProviderStore, _ console: Console) async throws {
        let isFile = provision.destination.output != nil
        if console.isJSON, isFile { try provision.destination.requireFile() }
        let person = try person()
        // Token-only identities get a different seed; otherwise they would equal published ones.
        let source =
            provision.tokenOnly ? provision.seeding.source.child("token-only") : provision.seeding.source
        let password = try provision.password.password()
        var outcome = Provisioner.Outcome()
        var all: [MadeTestVector] = []
        for vector in vectors {
            let (made, authority) = try Provisioner(store).make(
                vector, for: person, at: provision.seeding.date(provision.clock),
                algorithm: provision.contents.key ?? .rsa(bits: 2048),
                password: try password ?? store.servicePassword.read(),
                locations: provision.contents.locations, from: source)
            outcome.note(authority)
            all.append(made)
            if isFile {
                try provision.destination.write(try made.file().bytes, console, isBinary: true)
                try made.register(in: store)
            } else {
                // A fault that no keychain can store is rejected before any other identity is stored.
                try made.requireKeychain(for: provision.publication)
            }
        }
        if !isFile {
            for made in all { outcome.add(try made.install(into: store, as: provision.publication)) }
        }
        let identities = all.flatMap(\.identities).map { IdentitySummary($0.certificate) }
        let document = ProvisioningDocument(
            identities, made: outcome.count, alreadyThere: outcome.skipped,
            authorities: outcome.authorities.map(ProvisioningDocument.Authority.init),
            faults: vectors.map {
                .init(name: $0.name, description: $0.summary, duty: $0.expectedBehaviour)
            })
        try console.present(document) {
            // Standard output may be the file itself, so no table is printed.
            if !isFile { try console.table(of: document.identities) }
        }
        for identity in document.identities where isFile {
            console.note("\(identity.type) \(identity.serial) of \(identity.personText)")
        }
        for vector in vectors {
            console.note("\(vector.summary) A correct consumer \(vector.expectedBehaviour).")
        }
        if all.contains(where: { !$0.revoked.isEmpty }) {
            console.note("to write the revocation lists: keyshare-provider trust --crl -o revoked.pem")
        }
        console.note(outcome.authorities)
    }

    /// Returns the person that the options describe, or a random one.
    private func person() throws -> TestPerson {
        if let described = try provision.persons.persons(seed: provision.seeding.seed).first {
            return described
        }
        var random = provision.seeding.source.child("person").generator()
        return TestPerson(using: &random)
    }
}
