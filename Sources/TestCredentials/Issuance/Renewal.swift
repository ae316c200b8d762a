internal import Diagnostics
internal import CertificateReading
package import KeyShareProvider
internal import Foundation
package import KeySharing
package import OpenSSL

/// The renewal of a keychain's credentials, based on each person's newest certificate of each type.
package struct Renewal: Sendable {
    /// Types of one person that are renewed in the same way.
    package struct Credentials: Sendable, Hashable {
        /// The types, in list order.
        package fileprivate(set) var types: [CredentialType]
        /// The name of a profile, or of a series if the certificate has the contents that the series specified at the
        /// time of issue.
        package let profile: String
        /// The arc of the policies in the certificates.
        package let policyArc: PolicyArc
        /// The algorithm of the keys, or nil for keys that provisioning cannot generate.
        package let algorithm: KeyAlgorithm?

        fileprivate func isLike(_ other: Credentials) -> Bool {
            (profile, policyArc, algorithm) == (other.profile, other.policyArc, other.algorithm)
        }
    }

    /// The properties that a renewal changes. If a property is nil, it is copied from the old certificates.
    package struct Changes: Sendable {
        /// The name of the profile or series.
        package var profile: String?
        /// The new arc of the policies in the certificates.
        package var policyArc: PolicyArc?
        /// The new algorithm of the keys.
        package var algorithm: KeyAlgorithm?
        /// The URLs of the PKI in the certificates.
        package var locations: PKILocations?

        /// Creates an empty set of changes.
        package init() {}
    }

    /// Persons whose credentials are renewed in the same way.
    package struct Group: Sendable {
        /// The credentials of each person.
        package let credentials: [Credentials]
        /// The URLs of the PKI in the certificates.
        package let locations: PKILocations
        /// The persons, sorted by common name.
        package let persons: [TestPerson]

        /// The request for the next generation, which starts one day before the time of provisioning.
        package var request: ProvisioningRequest {
            let sets = credentials.map { credentials in
                var set = CredentialSet(starts: .generations(1))
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

    /// The groups of persons, in a fixed order.
    package let groups: [Group]

    /// Reads the certificates of a keychain. Device certificates name no person and are not renewed.
    ///
    /// Changes are applied before persons are grouped. A run that continues an interrupted one therefore finds equal
    /// groups, although some persons are already renewed.
    ///
    /// - Parameters:
    ///   - store: The provider's keychain.
    ///   - wanted: The types to renew, or nil for all types.
    ///   - publication: Whether to renew published identities or token-only identities.
    ///   - changes: The properties that the renewal changes.
    /// - Throws: `ProvisioningError`: `.nothingToRenew`. `KeychainError` and `CertificateError` if the keychain cannot
    ///   be read.
    package init(
        of store: ProviderStore, types wanted: [CredentialType]?,
        publication: IdentityPublication = .keySharing, changing changes: Changes = Changes()
    ) throws {
        let authorities = Set(try store.authorityCertificates().compactMap(\.subjectKeyIdentifier))
        var holders: [String: [CredentialType: Holding]] = [:]
        func take(_ certificate: Certificate) {
            let type = IdentitySummary(certificate).type(under: .keySharing2025)
            guard wanted?.contains(type) ?? true, type != .device, type != .unknown,
                let person = TestPerson(of: certificate)
            else { return }
            let known = holders[person.commonName]?[type]
            if let known, known.isNewer(than: certificate) { return }
            let isOwn = certificate.authorityKeyIdentifier.map(authorities.contains) ?? false
            holders[person.commonName, default: [:]][type] = Holding(certificate, person, isOwn: isOwn)
        }
        switch publication {
        case .keySharing: try store.forEachCertificate(take)
        case .tokenOnly: for token in try TokenStore(store).unpublished() { take(token.certificate) }
        }
        guard !holders.isEmpty else {
            throw ProvisioningError(
                .nothingToRenew, "the keychain contains no personal certificates to renew")
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

    /// The properties of a person's newest certificate of a type.
    private struct Holding {
        let notBefore: Date
        let label: String
        let person: TestPerson
        let shape: CertificateShape
        let algorithm: KeyAlgorithm?
        let locations: PKILocations

        /// Reads the properties that a renewal needs from a certificate.
        ///
        /// - Parameter isOwn: Whether an authority of the keychain issued the certificate. The URLs in another issuer's
        ///   certificate must not be reused.
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

        /// Whether this certificate is newer than another one. If their dates are equal, compares their labels, so that
        /// the result does not depend on the order of insertion.
        func isNewer(than certificate: Certificate) -> Bool {
            (notBefore, label) > (certificate.notBefore, certificate.label)
        }
    }

    /// The properties that the persons of one group have in common.
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

    /// Combines the data of the person's certificates: some types contain the e-mail address, others the FASC-N.
    private static func person(_ holdings: [CredentialType: Holding]) -> TestPerson? {
        let mail = [holdings[.signature], holdings[.encryption]].compactMap(\.self)
            .max { ($0.notBefore, $0.label) < ($1.notBefore, $1.label) }
        var person = (holdings[.authentication] ?? holdings[.signature] ?? mail)?.person
        person?.givenEmailAddress = mail?.person.givenEmailAddress
        return person
    }
}
