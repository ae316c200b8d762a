internal import CertificateReading
package import Foundation
package import KeySharing
package import OpenSSL

/// What is to be provisioned.
package struct ProvisioningRequest: Sendable {
    /// One of so many equal parts of a request, by person.
    package struct Shard: Sendable, Hashable {
        /// From 1 to `count`.
        package let number: Int
        package let count: Int

        /// Nil unless `number` is from 1 to `count`.
        package init?(number: Int, count: Int) {
            guard count >= 1, (1...count).contains(number) else { return nil }
            self.number = number
            self.count = count
        }
    }

    /// Persons that are given; the rest up to `personCount` are drawn.
    package var persons: [TestPerson]
    package var personCount: Int
    /// What each person gets, one set after the other.
    package var sets: [CredentialSet]
    package var locations = PKILocations.example
    package var shard: Shard?

    /// A request for so many persons, each with the same sets of credentials.
    package init(persons: [TestPerson] = [], personCount: Int? = nil, sets: [CredentialSet]) {
        self.persons = persons
        self.personCount = personCount ?? persons.count
        self.sets = sets
    }

    /// A request whose newest certificates start the day before `date`, each older one three years earlier.
    package init(
        persons: [TestPerson] = [], personCount: Int? = nil, types: [CredentialType]? = nil,
        generations: Int = 4, algorithm: KeyAlgorithm? = nil, date: Date
    ) {
        var set = CredentialSet(starts: CredentialSet.starts(generations: generations, before: date))
        set.types = types
        set.algorithm = algorithm
        self.init(persons: persons, personCount: personCount, sets: [set])
    }

    /// Everything of the request that decides what comes out, in one text; not the shard, and not the starts
    /// where these follow from the clock.
    func fingerprint(withStarts: Bool) -> String {
        let names = persons.map {
            "\($0.commonName)/\($0.emailAddress)/\($0.agency)/\($0.cardHolder.joined())"
                + ($0.givenSecurityIdentifier.map { "/\($0)" } ?? "")
        }
        let parts: [String] =
            [names.joined(separator: ","), String(personCount)]
            + sets.flatMap { $0.description(withStarts: withStarts) } + [locations.repository]
        return Digest.sha256(Array(parts.joined(separator: "\n").utf8)).upperHex
    }
}

/// Certificates of the same kind that a person gets: some types, each several times.
package struct CredentialSet: Sendable {
    /// The types; nil for those of the profile.
    package var types: [CredentialType]?
    /// When each type's certificates start, the newest first.
    package var starts: [Date]
    /// How many more encryption identities there are, each older than the oldest other one: keys that were
    /// recovered from escrow.
    package var recovered = 0
    /// How much older each recovered key is than the next.
    package var interval = CalendarSpan.generation
    /// The profile, or the series of profiles, by name.
    package var profile = "dod"
    /// The key; nil for the profile's.
    package var algorithm: KeyAlgorithm?
    package var policyArc = PolicyArc.test

    /// Certificates of the usual types and kind.
    package init(starts: [Date]) {
        self.starts = starts
    }

    /// The default starts: the day before `date`, and every `interval` before it.
    package static func starts(
        generations: Int, before date: Date, every interval: CalendarSpan = .generation
    ) -> [Date] {
        let newest = CalendarSpan(-1, .day).added(to: date.wholeSeconds)
        return (0..<generations).map { interval.added(to: newest, times: -$0) }
    }

    /// Everything of the set that decides what comes out, as texts.
    fileprivate func description(withStarts: Bool) -> [String] {
        [
            (types ?? []).map(\.rawValue).joined(),
            withStarts
                ? starts.map(\.timeIntervalSince1970.description).joined(separator: ",") : "\(starts.count)",
            String(recovered), profile, algorithm?.rawValue ?? "", policyArc.rawValue,
        ] + (interval == .generation ? [] : [interval.description])
    }
}

/// One certificate that every person of a request gets.
struct ProvisioningSlot: Sendable {
    let type: CredentialType
    let profile: CredentialProfile
    let algorithm: KeyAlgorithm
    let validity: Range<Date>
    let policyArc: PolicyArc
}

extension ProvisioningRequest {
    /// How many certificates each person gets.
    ///
    /// - Throws: `noSuchProfile`, `typeNotInProfile`, `dateOutOfRange`.
    package func slotCount() throws(ProvisioningError) -> Int { try slots().count }

    /// How many certificates this shard makes.
    ///
    /// - Throws: as `slotCount`.
    package func identityCount() throws(ProvisioningError) -> Int {
        let first = (shard?.number ?? 1) - 1
        let step = shard?.count ?? 1
        let persons = first < personCount ? (personCount - first + step - 1) / step : 0
        return persons * (try slotCount())
    }

    /// What each person gets, in order: set by set.
    ///
    /// - Throws: `noSuchProfile`, `typeNotInProfile`, `dateOutOfRange`.
    func slots() throws(ProvisioningError) -> [ProvisioningSlot] {
        var slots: [ProvisioningSlot] = []
        for set in sets { slots += try set.slots() }
        return slots
    }

    /// A person of the request; those that are not given are drawn from the source by their number.
    package func person(_ number: Int, from source: RandomSource) -> TestPerson {
        if number < persons.count { return persons[number] }
        var random = source.child("person \(number)").generator()
        return TestPerson(using: &random)
    }

    /// The numbers of the persons that this shard makes.
    var personNumbers: StrideTo<Int> {
        guard let shard else { return stride(from: 0, to: personCount, by: 1) }
        return stride(from: shard.number - 1, to: personCount, by: shard.count)
    }
}

extension CredentialSet {
    /// Type by type, the newest first, recovered keys last of their type.
    fileprivate func slots() throws(ProvisioningError) -> [ProvisioningSlot] {
        var slots: [ProvisioningSlot] = []
        let wanted = if let types { types } else { try profile(at: starts.first ?? .distantPast).types }
        for type in wanted {
            for start in starts { slots.append(try slot(type, start)) }
            guard type == .encryption, let oldest = starts.last else { continue }
            for number in 0..<recovered {
                slots.append(try slot(type, interval.added(to: oldest, times: -(number + 1))))
            }
        }
        return slots
    }

    private func slot(_ type: CredentialType, _ start: Date) throws(ProvisioningError) -> ProvisioningSlot {
        guard CertificateDate.supported.contains(start) else {
            let day = start.formatted(.iso8601.year().month().day())
            throw ProvisioningError(
                .dateOutOfRange,
                "\(type.rawValue) certificates would start on \(day), outside the years 1900 to 2200",
                hint: "ask for fewer generations and recovered keys, or for later ones")
        }
        let profile = try profile(at: start)
        guard profile.has(type) else {
            throw ProvisioningError(
                .typeNotInProfile, "the profile \(profile.name) has no \(type.rawValue) certificates")
        }
        return ProvisioningSlot(
            type: type, profile: profile, algorithm: algorithm ?? profile.algorithm,
            validity: start..<Calendar.utc.adding(years: profile.years, to: start), policyArc: policyArc)
    }

    private func profile(at date: Date) throws(ProvisioningError) -> CredentialProfile {
        guard let found = CredentialProfile.named(profile, at: date) else {
            throw ProvisioningError(.noSuchProfile, "there is no profile \(profile)")
        }
        return found
    }
}
