internal import Diagnostics
package import CertificateReading
package import Foundation
package import KeySharing
package import OpenSSL
internal import StandardExtensions

/// Credentials of one kind for a person: some types, each in several generations.
package struct CredentialSet: Sendable {
    /// The ways to specify the start dates of a set's certificates.
    package enum Starts: Sendable {
        /// A number of generations. The newest starts one day before the time of provisioning. Each older
        /// generation starts one interval before the next newer one.
        case generations(Int)
        /// One generation that starts at each of these times.
        case at([Moment])
    }

    /// A time, absolute or relative to the time of provisioning.
    package typealias Moment = CalendarMoment

    /// The types, or nil for the types of the profile.
    package var types: [CredentialType]?
    /// The start dates of each type's certificates.
    package var starts: Starts
    /// The number of additional encryption identities, each older than the oldest generation. They represent keys that
    /// were recovered from escrow.
    package var recovered = 0
    /// The age difference between consecutive generations and recovered keys.
    package var interval = CalendarSpan.generation
    /// The time for which each certificate is valid, or nil for the profile's years.
    package var validity: CalendarSpan?
    /// The end of the newest generation of each type, or nil for the end of its usual validity. If the newest
    /// generation would start later, all generations start earlier.
    package var expires: Moment?
    /// The name of a profile or of a series of profiles.
    package var profile = CredentialSet.usualProfile
    /// The algorithm of the keys, or nil for the profile's.
    package var algorithm: KeyAlgorithm?
    /// The policies in the certificates.
    package var policyArc = PolicyArc.test

    /// Creates a set with the default types, profile and algorithm.
    package init(starts: Starts) {
        self.starts = starts
    }

    /// The name of the default series of profiles.
    package static let usualProfile = "dod"
}

extension CredentialSet {
    /// The credentials of each person, grouped by type with the newest first. Recovered keys are the last of their
    /// type.
    ///
    /// - Parameter date: The time of provisioning.
    /// - Throws: `ProvisioningError`: `.noSuchProfile`, `.typeNotInProfile`, `.dateOutOfRange`.
    package func specs(at date: Date) throws(ProvisioningError) -> [CredentialSpec] {
        func namedProfile(at date: Date) throws(ProvisioningError) -> CredentialProfile {
            guard let found = CredentialProfile.named(profile, at: date) else {
                throw ProvisioningError(.noSuchProfile, "unknown profile \(profile)")
            }
            return found
        }
        let (starts, recovered) = resolved(at: date)
        var specs: [CredentialSpec] = []
        let wanted = if let types { types } else { try namedProfile(at: starts.first ?? .distantPast).types }
        for type in wanted {
            var all = starts
            if type == .encryption, let oldest = starts.last {
                all += (0..<recovered).map { interval.added(to: oldest, times: -($0 + 1)) }
            }
            for (number, start) in all.enumerated() {
                guard CertificateDate.supported.contains(start) else {
                    throw ProvisioningError(
                        .dateOutOfRange,
                        "\(type.rawValue) certificates would start on \(start.day), outside the years 1900 to 2200"
                    )
                }
                let profile = try namedProfile(at: start)
                guard profile.has(type) else {
                    throw ProvisioningError(
                        .typeNotInProfile, "the profile \(profile.name) has no \(type.rawValue) certificates")
                }
                let isNewest = number < starts.count && start == starts.first
                let end =
                    (isNewest ? expires?.date(from: date) : nil)
                    ?? (validity ?? CalendarSpan(profile.years, .year)).added(to: start)
                guard start < end else {
                    throw ProvisioningError(
                        .dateOutOfRange,
                        "\(type.rawValue) certificates would expire on \(end.day), and start on \(start.day)",
                        remedy: .earlierStart)
                }
                specs.append(
                    CredentialSpec(
                        type: type, profile: profile, algorithm: algorithm ?? profile.algorithm,
                        validity: start..<end, policyArc: policyArc))
            }
        }
        return specs
    }

    /// The start dates, the newest first, and the number of additional recovered keys.
    func resolved(at date: Date) -> (starts: [Date], recovered: Int) {
        func generations(_ count: Int) -> [Date] {
            var newest = CalendarSpan(-1, .day).added(to: date.wholeSeconds)
            if let end = expires?.date(from: date), end <= newest {
                let years = CredentialProfile.named(profile, at: end)?.years ?? 3
                newest = (validity ?? CalendarSpan(years, .year)).added(to: end, times: -1)
            }
            return (0..<count).map { interval.added(to: newest, times: -$0) }
        }
        return switch starts {
        case .at(let moments): (moments.map { $0.date(from: date) }.sorted(by: >), recovered)
        // With zero generations, recovered keys get the dates that they would have with one generation.
        case .generations(0): (Array(generations(recovered + 1).dropFirst()), 0)
        case .generations(let count): (generations(count), recovered)
        }
    }
}

extension Date {
    /// The day in ISO 8601, for errors.
    fileprivate var day: String { formatted(.iso8601.year().month().day()) }
}

/// The specification of one certificate: everything except its subject, its key and its random values.
package struct CredentialSpec: Sendable {
    /// The certificate's type under the rules of the 2025 mechanism.
    package let type: CredentialType
    /// The profile that defines the contents of the certificate.
    package let profile: CredentialProfile
    /// The algorithm of the certificate's key.
    package let algorithm: KeyAlgorithm
    /// The validity period of the certificate.
    package let validity: Range<Date>
    /// The policies in the certificate.
    package var policyArc: PolicyArc

    /// Creates a specification.
    package init(
        type: CredentialType, profile: CredentialProfile, algorithm: KeyAlgorithm, validity: Range<Date>,
        policyArc: PolicyArc = .test
    ) {
        self.type = type
        self.profile = profile
        self.algorithm = algorithm
        self.validity = validity
        self.policyArc = policyArc
    }

    /// The authority that issues the certificate.
    package var issuer: TestAuthorityRole { profile.certificate(type)?.issuer ?? .identity }

    /// Creates the template of the certificate for `person`.
    ///
    /// - Parameters:
    ///   - serialNumber: The serial number of the certificate.
    ///   - authority: The PKI whose files the certificate refers to.
    ///   - locations: The URLs of these files.
    ///   - random: The generator of other random values.
    /// - Throws: `CertificateError` if a name cannot be encoded.
    package func template(
        for person: TestPerson, serialNumber: [UInt8], below authority: TestAuthority,
        in locations: PKILocations, using random: inout some RandomNumberGenerator
    ) throws(CertificateError) -> CertificateTemplate {
        let uuid = UUID(using: &random)
        let contents = profile.certificate(type)
        let deviceName = "device-\(uuid.uuidString.prefix(8).lowercased()).mil.example"
        var template = CertificateTemplate(
            subject: try TestNames.subject(contents?.subject == .device ? deviceName : person.commonName),
            serialNumber: serialNumber, notBefore: validity.lowerBound, notAfter: validity.upperBound)
        guard let contents else { return template }
        template.keyUsage = contents.keyUsage(algorithm)
        template.extendedKeyUsage = contents.purposes
        template.policies = contents.policies[policyArc.rawValue] ?? []
        template.extensions = contents.otherExtensions
        for name in contents.names {
            switch name {
            case .email: template.subjectAlternativeNames.append(.rfc822Name(person.emailAddress))
            case .upn:
                template.subjectAlternativeNames.append(.userPrincipalName("\(person.edipi)@mil"))
            case .cardholderUPN:
                template.subjectAlternativeNames.append(
                    .userPrincipalName("\(person.cardHolder.joined())@mil"))
            case .fascn:
                let credential = String(Int.random(in: 100_000...999_999, using: &random))
                let fields = [person.agency, "0001", credential, "0", "1"] + person.cardHolder
                template.subjectAlternativeNames += FASCN(fields: fields).map { [.fascn($0)] } ?? []
            case .uuid:
                template.subjectAlternativeNames.append(
                    .uniformResourceIdentifier("urn:uuid:\(uuid.uuidString.lowercased())"))
            case .dns: template.subjectAlternativeNames.append(.dNSName(deviceName))
            case .sid: continue
            }
        }
        if contents.names.contains(.sid) || person.givenSecurityIdentifier != nil && contents.namesPrincipal {
            if let account = person.securityIdentifier {
                template.extensions.append(try account.certificateExtension())
            }
        }
        template.point(at: contents.issuer, authority[contents.issuer].certificate, in: locations)
        return template
    }
}
