import CertificateReading
import TestCredentials
import CommandSupport
import DeviceSimulation
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL

/// `provision --fault`: one specimen, into the keychain or into a file.
struct FaultProvisioning {
    let name: String
    let provision: Provision

    func run(_ store: ProviderStore, _ console: Console) async throws {
        if console.isJSON, provision.destination.output != nil { try provision.destination.requireFile() }
        guard let specimen = Specimen.fault(named: name) else {
            throw CommandFailure(
                .usage, code: "no-such-fault", "there is no fault \u{201C}\(name)\u{201D}",
                hint: "keyshare-provider faults lists them")
        }
        let source = provision.seeding.source
        var random = source.child("person").generator()
        let descriptions = try provision.persons.descriptions()
        let described = try PersonDescription.persons(descriptions, seed: provision.seeding.seed).first
        let person = described ?? TestPerson(using: &random)
        let date = provision.seeding.date(provision.clock)
        let algorithm = provision.contents.key ?? .rsa(bits: 2048)
        let locations = provision.contents.locations
        let authority = try Provisioner(store).authority(
            covering: SpecimenCollection.span(at: date), algorithm: algorithm, locations: locations,
            from: source)
        let shop = Workshop(
            authority: authority, person: person, date: date, algorithm: algorithm,
            password: try provision.password.password() ?? store.servicePassword(),
            locations: locations, source: source
        ).bench(for: specimen.name)
        let product = try specimen.make(shop)

        var identities: [IdentitySummary] = []
        var added = 0
        if provision.destination.output != nil {
            let (bytes, _) = try shop.bytes(of: product)
            try provision.destination.write(bytes, console, isBinary: true)
            // No keychain holds these, and their status can be asked for all the same.
            var revoked: [Certificate] = []
            if case .identities(let made, isRevoked: true) = product { revoked = made.map(\.certificate) }
            try store.register(issued: shop.issued, revoked: revoked, at: date)
        } else if case .identities(let made, let isRevoked) = product {
            for result in try store.add(made.map { ($0.certificate, $0.privateKey) }) {
                added += try result.get() == .added ? 1 : 0
            }
            identities = made.map { IdentitySummary($0.certificate) }
            if isRevoked { try store.register(revoked: made.map(\.certificate), at: date) }
        } else {
            throw CommandFailure(
                .usage, code: ProvisioningError.Code.faultNeedsFile.rawValue,
                "a keychain cannot hold the fault \u{201C}\(name)\u{201D}", hint: "name a file with -o")
        }
        let document = ProvisioningDocument(
            identities, made: added, alreadyThere: identities.count - added,
            fault: .init(name: specimen.name, sentence: specimen.sentence, duty: specimen.duty))
        try console.present(document) {}
        console.note("\(specimen.sentence) A correct consumer \(specimen.duty).")
    }
}
