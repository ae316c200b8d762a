import CommandSupport
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL

/// `provision --fault`: one specimen, into the key chain or into a file.
struct FaultProvisioning {
    let name: String
    let provision: Provision

    func run(_ store: ProviderStore, _ console: Console) async throws {
        guard let specimen = Specimen.fault(named: name) else {
            throw CommandFailure(
                .usage, code: "no-such-fault", "there is no fault \u{201C}\(name)\u{201D}",
                hint: "keyshare-provider faults lists them")
        }
        let source = provision.seeding.source
        var random = source.child("person").generator()
        let descriptions = try provision.persons.descriptions()
        let described = try provision.persons.described(descriptions, seed: provision.seeding.seed).first
        let person = described ?? TestPerson(using: &random)
        let date = provision.clock.now
        let algorithm = provision.contents.key ?? .rsa(bits: 2048)
        let authority = try Provisioner(store).authority(
            covering: SpecimenCollection.span(at: date), algorithm: algorithm,
            locations: provision.contents.request(at: date).locations, from: source)
        let shop = Workshop(
            authority: authority, person: person, date: date, algorithm: algorithm,
            password: try provision.password.password() ?? store.servicePassword(), source: source
        ).bench(for: specimen.name)
        let product = try specimen.make(shop)

        if provision.destination.output != nil {
            let (bytes, _) = try shop.bytes(of: product)
            try provision.destination.write(bytes, console, isBinary: true)
        } else if case .identities(let identities, let isRevoked) = product {
            _ = try store.add(identities.map { ($0.certificate, $0.privateKey) })
            if isRevoked { try store.revoke(identities.map(\.certificate)) }
        } else {
            throw CommandFailure(
                .usage, code: ProvisioningError.Code.faultNeedsFile.rawValue,
                "a key chain cannot hold the fault \u{201C}\(name)\u{201D}", hint: "name a file with -o")
        }
        console.note("\(specimen.sentence) A correct consumer \(specimen.duty).")
    }
}
