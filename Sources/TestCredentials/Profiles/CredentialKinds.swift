internal import Foundation
internal import KeySharing
internal import OpenSSL

/// The parts of a certificate that differ between profiles.
struct CertificateShape: Hashable {
    fileprivate let purposes: Set<String>
    fileprivate let policies: Set<String>
    fileprivate let names: Set<CertificateProfile.Name>
    fileprivate let extensions: Set<String>
    /// The names of the profiles that were in use in their series when the certificate's validity period started.
    fileprivate let current: Set<String>

    /// Reads the parts that differ between profiles from a certificate.
    init(_ certificate: Certificate) {
        purposes = Set(certificate.extendedKeyUsage ?? [])
        policies = Set(certificate.policies)
        let oids = Set(certificate.extensions.map(\.oid))
        extensions = oids.intersection(Self.distinguishing)
        let account: [CertificateProfile.Name] = oids.contains(SecurityIdentifier.extensionType) ? [.sid] : []
        names = Set(certificate.subjectAlternativeNames.compactMap(CertificateProfile.Name.init) + account)
        let series = Set(CredentialProfile.all.compactMap(\.series))
        current = Set(series.compactMap { CredentialProfile.named($0, at: certificate.notBefore)?.name })
    }

    /// The object identifiers of the extensions that any profile contains as DER.
    private static let distinguishing = Set(
        CredentialProfile.all.flatMap { profile in
            CredentialType.allCases.compactMap(profile.certificate).flatMap(\.otherExtensions).map(\.oid)
        })
}

/// A profile or series with a policy arc, as named in requests.
struct CredentialKind: Hashable {
    let profile: String
    let policyArc: PolicyArc
}

/// Finds the profile that most resembles a certificate.
///
/// A certificate does not contain the name of its profile, and an imported certificate was issued without one. The kind
/// of a certificate is therefore that of the profile with the most similar contents. Results are cached, because many
/// certificates have the same shape.
struct CredentialKinds {
    private struct Question: Hashable {
        let type: CredentialType
        let shape: CertificateShape
    }

    /// The cached results.
    private var known: [Question: [CredentialKind]] = [:]

    /// The kinds of a person's certificates, in the same order.
    ///
    /// If several profiles are equally similar to a certificate, the one that is similar to more of the person's
    /// certificates is selected.
    mutating func kinds(of certificates: [(type: CredentialType, shape: CertificateShape)])
        -> [CredentialKind]
    {
        let candidates = certificates.map { nearest(Question(type: $0.type, shape: $0.shape)) }
        let votes = Dictionary(candidates.joined().map { ($0, 1) }, uniquingKeysWith: +)
        return candidates.map { kinds in
            let most = kinds.map { votes[$0, default: 0] }.max()
            return kinds.first { votes[$0] == most }
                ?? CredentialKind(profile: CredentialSet.usualProfile, policyArc: .test)
        }
    }

    /// The most similar kinds, all at the same distance. Profiles that were in use in their series at the time come
    /// first.
    private mutating func nearest(_ question: Question) -> [CredentialKind] {
        if let kinds = known[question] { return kinds }
        let shape = question.shape
        var kinds: [(kind: CredentialKind, distance: Int)] = []
        let profiles = CredentialProfile.all
        let isCurrent = { (profile: CredentialProfile) in shape.current.contains(profile.name) }
        for profile in profiles.filter(isCurrent) + profiles.filter({ !isCurrent($0) }) {
            guard let contents = profile.certificate(question.type) else { continue }
            let name = isCurrent(profile) ? profile.series ?? profile.name : profile.name
            for arc in PolicyArc.allCases {
                kinds.append(
                    (CredentialKind(profile: name, policyArc: arc), contents.distance(from: shape, arc)))
            }
        }
        let least = kinds.map(\.distance).min()
        let found = kinds.filter { $0.distance == least }.map(\.kind)
        known[question] = found
        return found
    }
}

extension CertificateProfile {
    /// The number of differences between a certificate and the profile. It is 0 for a certificate of this profile.
    fileprivate func distance(from shape: CertificateShape, _ arc: PolicyArc) -> Int {
        // Ignore the Windows account if the profile does not contain one, because the person may have been given one.
        let accountless = shape.names.subtracting(names.contains(.sid) ? [] : [.sid])
        return Set(purposes).symmetricDifference(shape.purposes).count
            + Set(policies[arc.rawValue] ?? []).symmetricDifference(shape.policies).count
            + Set(names).symmetricDifference(accountless).count
            + Set(otherExtensions.map(\.oid)).symmetricDifference(shape.extensions).count
    }
}

extension CertificateProfile.Name {
    /// The kind of a name in a certificate. Nil for a name that occurs in no profile.
    fileprivate init?(_ name: GeneralName) {
        switch name {
        case .rfc822Name: self = .email
        case .otherName(GeneralName.userPrincipalNameType, .utf8String(let text)):
            // A plain EDIPI has ten digits.
            self = text.prefix { $0 != "@" }.count > 10 ? .cardholderUPN : .upn
        case .otherName(GeneralName.fascnType, _): self = .fascn
        case .uniformResourceIdentifier(let text) where text.hasPrefix("urn:uuid:"): self = .uuid
        case .dNSName: self = .dns
        default: return nil
        }
    }
}
