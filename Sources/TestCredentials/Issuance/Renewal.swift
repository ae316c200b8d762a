internal import CertificateReading
package import KeyShareProvider
package import Foundation
package import KeySharing
package import OpenSSL

/// What there is to renew in a provider's keychain: persons with the newest certificate of each type.
package struct Renewal: Sendable {
    /// Types that are renewed alike.
    package struct Credentials: Sendable, Hashable {
        package fileprivate(set) var types: [CredentialType]
        /// A profile, or a series where the certificate has what its series had at the time.
        package let profile: String
        package let policyArc: PolicyArc
        /// Nil for a key that provisioning does not make.
        package let algorithm: KeyAlgorithm?

        fileprivate func isLike(_ other: Credentials) -> Bool {
            (profile, policyArc, algorithm) == (other.profile, other.policyArc, other.algorithm)
        }
    }

    /// What is asked for in place of what certificates show; nil for what they show.
    package struct Changes: Sendable {
        package var profile: String?
        package var policyArc: PolicyArc?
        package var algorithm: KeyAlgorithm?
        package var locations: PKILocations?

        /// No change.
        package init() {}
    }

    /// Persons that are renewed alike.
    package struct Group: Sendable {
        package let credentials: [Credentials]
        package let locations: PKILocations
        package let persons: [TestPerson]

        /// A request for the next generation, which starts the day before `date`.
        package func request(at date: Date) -> ProvisioningRequest {
            let sets = credentials.map { credentials in
                var set = CredentialSet(starts: CredentialSet.starts(generations: 1, before: date))
                set.types = credentials.types
                set.profile = credentials.profile
                set.algorithm = credentials.algorithm
                set.policyArc = credentials.policyArc
                return set
            }
            var request = ProvisioningRequest(persons: persons, sets: sets)
            request.locations = locations
            return request
        }
    }

    /// Persons by what they have, in a fixed order.
    package let groups: [Group]

    /// Reads the keychain's certificates. Devices are nobody's and are not renewed.
    ///
    /// A run that goes on after an interruption finds the same groups: changes are made before persons are
    /// grouped, because some have been renewed by then.
    ///
    /// - Parameter types: the types to renew; nil for all that there are.
    /// - Throws: `nothingToRenew`, and what reading the keychain throws.
    package init(
        of store: ProviderStore, types wanted: [CredentialType]?, changing changes: Changes = Changes()
    ) throws {
        let authorities = Set(try store.authorityCertificates().compactMap(\.subjectKeyIdentifier))
        var holders: [String: [CredentialType: Holding]] = [:]
        try store.forEachCertificate { certificate in
            let type = IdentitySummary(certificate).type(.keySharing2025)
            guard wanted?.contains(type) ?? true, type != .device, type != .unknown,
                let person = TestPerson(of: certificate)
            else { return }
            let known = holders[person.commonName]?[type]
            if let known, known.isNewer(than: certificate) { return }
            let isOwn = certificate.authorityKeyIdentifier.map(authorities.contains) ?? false
            holders[person.commonName, default: [:]][type] = Holding(certificate, person, isOwn: isOwn)
        }
        guard !holders.isEmpty else {
            throw ProvisioningError(.nothingToRenew, "the keychain holds nobody's certificates to renew")
        }
        var kinds = CredentialKinds()
        var members: [Key: [TestPerson]] = [:]
        for holdings in holders.values {
            guard let person = Self.person(holdings) else { continue }
            members[Key(holdings, changes, &kinds), default: []].append(person)
        }
        groups = members.map { key, persons in
            Group(
                credentials: key.credentials, locations: key.locations,
                persons: persons.sorted { $0.commonName < $1.commonName })
        }.sorted { "\($0.credentials) \($0.locations)" < "\($1.credentials) \($1.locations)" }
    }

    /// What is kept of a person's newest certificate of a type.
    private struct Holding {
        let notBefore: Date
        let label: String
        let person: TestPerson
        let shape: CertificateShape
        let algorithm: KeyAlgorithm?
        let locations: PKILocations

        /// - Parameter isOwn: whether an authority of the keychain issued it. Where another's answers, nothing
        ///   of ours does.
        init(_ certificate: Certificate, _ person: TestPerson, isOwn: Bool) {
            notBefore = certificate.notBefore
            label = certificate.label
            self.person = person
            shape = CertificateShape(certificate)
            algorithm = KeyAlgorithm(certificate.publicKey)
            locations =
                (isOwn ? certificate.responderURLs.first.flatMap(PKILocations.init(responder:)) : nil)
                ?? .example
        }

        /// Of two that start at the same time it is the same one in whatever order they were added.
        func isNewer(than certificate: Certificate) -> Bool {
            (notBefore, label) > (certificate.notBefore, certificate.label)
        }
    }

    /// What persons of one group have in common.
    private struct Key: Hashable {
        let credentials: [Credentials]
        let locations: PKILocations

        init(_ holdings: [CredentialType: Holding], _ changes: Changes, _ kinds: inout CredentialKinds) {
            let sorted = holdings.sorted { $0.key.listingRank < $1.key.listingRank }
            let found = kinds.kinds(of: sorted.map { ($0.key, $0.value.shape) })
            var credentials: [Credentials] = []
            for ((type, holding), kind) in zip(sorted, found) {
                let one = Credentials(
                    types: [type], profile: changes.profile ?? kind.profile,
                    policyArc: changes.policyArc ?? kind.policyArc,
                    algorithm: changes.algorithm ?? holding.algorithm)
                if let index = credentials.firstIndex(where: one.isLike) {
                    credentials[index].types.append(type)
                } else {
                    credentials.append(one)
                }
            }
            self.credentials = credentials
            let newest = holdings.values.max { ($0.notBefore, $0.label) < ($1.notBefore, $1.label) }
            locations = changes.locations ?? newest?.locations ?? .example
        }
    }

    /// The person as the certificates tell: each type tells something of its own, an e-mail address, a FASC-N.
    private static func person(_ holdings: [CredentialType: Holding]) -> TestPerson? {
        let mail = [holdings[.signature], holdings[.encryption]].compactMap(\.self)
            .max { ($0.notBefore, $0.label) < ($1.notBefore, $1.label) }
        var person = (holdings[.authentication] ?? holdings[.signature] ?? mail)?.person
        person?.givenEmailAddress = mail?.person.givenEmailAddress
        return person
    }
}

extension KeyAlgorithm {
    /// The algorithm of a key; nil for one that provisioning does not make.
    init?(_ key: PublicKey) {
        switch key.type {
        case .rsa: self.init(rawValue: KeyAlgorithm.rsa(bits: key.bits).rawValue)
        case .ec("P-256"): self = .p256
        case .ec("P-384"): self = .p384
        default: return nil
        }
    }
}
