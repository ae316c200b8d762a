internal import Foundation
package import KeySharing
internal import OpenSSL

/// What there is to renew in a provider's key chain: persons with the types that each has.
package struct Renewal: Sendable {
    /// Persons that have the same types.
    package struct Group: Sendable {
        package let types: [CredentialType]
        package let persons: [TestPerson]
    }

    /// Persons by the types they have, in a fixed order.
    package let groups: [Group]

    /// Reads the key chain's certificates. Devices are nobody's and are not renewed.
    ///
    /// - Parameter types: the types to renew; nil for all that there are.
    /// - Throws: `nothingToRenew`, and what reading the key chain throws.
    package init(of store: ProviderStore, types wanted: [CredentialType]?) throws {
        var persons: [String: (person: TestPerson, types: Set<CredentialType>)] = [:]
        try store.forEachCertificate { certificate in
            let type = IdentitySummary(certificate).type(.keySharing2025)
            guard wanted?.contains(type) ?? true, type != .device, type != .unknown,
                let person = TestPerson(of: certificate)
            else { return }
            var known = persons[person.commonName] ?? (person, [])
            known.types.insert(type)
            // Each type tells something of its own: an e-mail address, a FASC-N.
            if type != .authentication { known.person.givenEmailAddress = person.givenEmailAddress }
            if type == .authentication {
                let address = known.person.givenEmailAddress
                known.person = person
                known.person.givenEmailAddress = address
            }
            persons[person.commonName] = known
        }
        guard !persons.isEmpty else {
            throw ProvisioningError(.nothingToRenew, "the key chain holds nobody's certificates to renew")
        }
        let grouped = Dictionary(grouping: persons.values) { $0.types }
        groups = grouped.map { types, members in
            Group(
                types: types.sorted { $0.listingRank < $1.listingRank },
                persons: members.map(\.person).sorted { $0.commonName < $1.commonName })
        }.sorted { "\($0.types)" < "\($1.types)" }
    }
}
