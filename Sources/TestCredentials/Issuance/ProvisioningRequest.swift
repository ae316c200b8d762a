internal import CertificateReading
package import Foundation
package import KeyShareProvider
package import KeySharing
package import OpenSSL
internal import StandardExtensions

/// The credentials to provision: their holders, their types, and their dates.
///
/// A `ProvisioningRun` adds randomness to a request, and a `Provisioner` generates the run's credentials in a keychain.
package struct ProvisioningRequest: Sendable {
    /// One of several parts of a request. Each part has different persons.
    package struct Shard: Sendable, Hashable {
        /// The number of the part, from 1 to `count`.
        package let number: Int
        /// The total number of parts.
        package let count: Int

        /// Creates a part. Returns nil unless `number` is from 1 to `count`.
        package init?(number: Int, count: Int) {
            guard count >= 1, (1...count).contains(number) else { return nil }
            self.number = number
            self.count = count
        }
    }

    /// The given persons. If `personCount` is greater, the other persons are drawn at random.
    package var persons: [TestPerson]
    /// The total number of persons in all parts.
    package var personCount: Int
    /// The credentials of each person, in order.
    package var sets: [CredentialSet]
    /// The URLs of the PKI in the certificates.
    package var locations = PKILocations.example
    /// The number of keys that all identities share, or nil if every identity gets a key of its own.
    package var keyPool: Int?
    /// The part to generate, or nil for the whole request.
    package var shard: Shard?
    /// The time from which generations and relative start dates are computed.
    package var date: Date

    /// Creates a request in which each person gets the same sets of credentials.
    ///
    /// - Parameters:
    ///   - persons: The given persons.
    ///   - personCount: The number of persons, or nil for the number of `persons`.
    ///   - sets: The credentials of each person.
    ///   - date: The time from which generations and relative start dates are computed.
    package init(
        persons: [TestPerson] = [], personCount: Int? = nil, sets: [CredentialSet],
        date: Date = Date(timeIntervalSince1970: 0)
    ) {
        self.persons = persons
        self.personCount = personCount ?? persons.count
        self.sets = sets
        self.date = date
    }

    /// Creates a request for one set with a number of generations. The newest generation starts on the day before
    /// `date`.
    package init(
        persons: [TestPerson] = [], personCount: Int? = nil, types: [CredentialType]? = nil,
        generations: Int = 4, algorithm: KeyAlgorithm? = nil, date: Date
    ) {
        var set = CredentialSet(starts: .generations(generations))
        set.types = types
        set.algorithm = algorithm
        self.init(persons: persons, personCount: personCount, sets: [set], date: date)
    }

    /// The person with this number. Persons beyond the given ones are drawn from `source`. The same number always
    /// produces the same person.
    package func person(_ number: Int, from source: RandomSource) -> TestPerson {
        if number < persons.count { return persons[number] }
        var random = source.child("person \(number)").generator()
        return TestPerson(using: &random)
    }

    /// The numbers of the persons in the part to generate.
    var personNumbers: StrideTo<Int> {
        stride(from: (shard?.number ?? 1) - 1, to: personCount, by: shard?.count ?? 1)
    }

    /// The number of persons in the part to generate.
    var shardPersonCount: Int {
        let (first, step) = ((shard?.number ?? 1) - 1, shard?.count ?? 1)
        return first < personCount ? (personCount - 1 - first) / step + 1 : 0
    }

    /// A digest of everything that determines the result of the request, with start dates computed from `date`. The
    /// shard is excluded, so that all parts of a request draw from one seed.
    ///
    /// Seeds are derived from the digest, so changing any of its strings changes all keys.
    package func fingerprint(at date: Date) -> String {
        // Separate statements, because the compiler takes seconds for one long expression.
        let names = persons.map { person in
            var parts = [person.commonName, person.emailAddress, person.agency, person.cardHolder.joined()]
            if let identifier = person.givenSecurityIdentifier { parts.append("\(identifier)") }
            return parts.joined(separator: "/")
        }
        var parts = [names.joined(separator: ","), String(personCount)]
        for set in sets {
            let (starts, recovered) = set.resolved(at: date)
            parts += [
                (set.types ?? []).map(\.rawValue).joined(),
                starts.map(\.timeIntervalSince1970.description).joined(separator: ","),
                String(recovered), set.profile, set.algorithm?.rawValue ?? "", set.policyArc.rawValue,
            ]
            // Seeds are older than these properties, so they are added only if they are set.
            if set.interval != .generation { parts.append(set.interval.description) }
            if let validity = set.validity { parts.append("validity \(validity)") }
            if let expires = set.expires {
                parts.append("expires \(expires.date(from: date).timeIntervalSince1970)")
            }
        }
        parts.append(locations.repository)
        if let keyPool { parts.append("key pool \(keyPool)") }
        return Digest.sha256(Array(parts.joined(separator: "\n").utf8)).upperHex
    }
}

/// A request with its time and with the randomness for its credentials.
///
/// A run of the same request continues an interrupted run: it draws the same serial numbers and skips the identities
/// that the keychain already contains.
package struct ProvisioningRun: Sendable {
    /// The request, with the time of the run.
    package let request: ProvisioningRequest
    /// The specifications of each person's credentials, set by set.
    package let specs: [CredentialSpec]
    /// The source of the run's serial numbers, names and keys.
    package let randomness: ProvisioningRandomness

    /// Starts a run of a request, or continues an interrupted one.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - store: The provider's keychain.
    ///   - seed: The seed, or nil for a random run.
    ///   - purpose: Distinguishes runs of the same request for different commands.
    ///   - date: The time of the request. Nil uses `now`, or the recorded time of the run that is continued.
    ///   - now: The current time.
    ///   - isRepeated: Whether to generate new credentials if a finished run has already carried out the request.
    ///     Otherwise the run skips everything.
    /// - Throws: `KeychainError` if the run cannot be recorded. `ProvisioningError` if the request is invalid.
    package init(
        _ request: ProvisioningRequest, in store: ProviderStore, seed: Seed?, purpose: String = "provision",
        at date: Date?, now: Date, isRepeated: Bool = false
    ) throws {
        let (randomness, date) = try ProvisioningStore(store).beginRun(
            seed: seed, purpose: purpose, at: date, now: now, isRepeated: isRepeated,
            fingerprint: request.fingerprint)
        var request = request
        request.date = date
        self.request = request
        self.randomness = randomness
        specs = try request.sets.flatMap { try $0.specs(at: request.date) }
    }

    /// Creates a run at the time of the request.
    ///
    /// - Throws: `ProvisioningError`: `.noSuchProfile`, `.typeNotInProfile`, `.dateOutOfRange`.
    package init(
        _ request: ProvisioningRequest, from randomness: ProvisioningRandomness
    ) throws {
        self.request = request
        self.randomness = randomness
        specs = try request.sets.flatMap { try $0.specs(at: request.date) }
    }

    /// The number of identities of the run, including those that the keychain already contains.
    package var identityCount: Int { request.shardPersonCount * specs.count }
}

/// The randomness of a run, separated by purpose.
///
/// With a seed, everything is derived from the seed. Without one, serial numbers and names are derived from a secret in
/// the keychain, and keys come from the system. An interrupted run can therefore be continued, and a repeated run
/// recognizes the identities of a finished one.
package struct ProvisioningRandomness: Sendable {
    /// The source of serial numbers, names and persons.
    package let drawing: RandomSource
    /// The source of keys and signatures.
    let keys: RandomSource
    /// The source of new authorities, which all runs from the same seed share.
    package let authorities: RandomSource
    /// The name of the run's record in the keychain; nil if the run has no record.
    let runName: String?

    init(
        drawing: RandomSource, keys: RandomSource, authorities: RandomSource, runName: String? = nil
    ) {
        self.drawing = drawing
        self.keys = keys
        self.authorities = authorities
        self.runName = runName
    }

    /// Creates randomness that draws everything from one source, for runs that are never continued.
    package init(_ source: RandomSource) {
        self.init(drawing: source, keys: source, authorities: source)
    }

    /// Uses the system's randomness for everything.
    package static let system = ProvisioningRandomness(.system)

    /// Returns the randomness of one part of the run. The part uses the same source of new authorities as the whole
    /// run.
    package func child(_ name: String) -> ProvisioningRandomness {
        ProvisioningRandomness(
            drawing: drawing.child(name), keys: keys.child(name), authorities: authorities)
    }
}

extension Date {
    /// The time of a seeded run without a date: the start of the year. The result is therefore the same all
    /// year.
    package var startOfSeededRuns: Date { Calendar.utc.startOfYear(self) }
}
