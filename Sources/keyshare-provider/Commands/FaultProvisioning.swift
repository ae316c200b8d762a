import Diagnostics
import CertificateReading
import CommandSupport
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL
import TestCredentials

/// `provision --fault`: makes one defective test vector into the keychain or into a file.
struct FaultProvisioning {
    let name: String
    let provision: Provision

    func run(_ store: ProviderStore, _ console: Console) async throws {
        let isFile = provision.destination.output != nil
        if console.isJSON, isFile { try provision.destination.requireFile() }
        guard let vector = TestVector.defective(named: name) else {
            throw ProvisioningError(.noSuchFault, "there is no fault \u{201C}\(name)\u{201D}")
        }
        let made = try Provisioner(store).make(
            vector, for: try person(), at: provision.seeding.date(provision.clock),
            algorithm: provision.contents.key ?? .rsa(bits: 2048),
            password: try provision.password.password() ?? store.servicePassword.read(),
            locations: provision.contents.locations, from: provision.seeding.source)
        var outcome = Provisioner.Outcome()
        if isFile {
            try provision.destination.write(try made.file().bytes, console, isBinary: true)
            try made.register(in: store)
        } else {
            outcome = try made.install(into: store)
        }
        let identities = isFile ? [] : made.identities.map { IdentitySummary($0.certificate) }
        let document = ProvisioningDocument(
            identities, made: outcome.count, alreadyThere: outcome.skipped,
            fault: .init(name: name, sentence: vector.summary, duty: vector.expectedBehaviour))
        try console.present(document) {}
        console.note("\(vector.summary) A correct consumer \(vector.expectedBehaviour).")
    }

    /// The person that options describe, or a random one.
    private func person() throws -> TestPerson {
        if let described = try provision.persons.persons(seed: provision.seeding.seed).first {
            return described
        }
        var random = provision.seeding.source.child("person").generator()
        return TestPerson(using: &random)
    }
}
