internal import Diagnostics
package import Foundation
package import KeySharing
package import OpenSSL

/// What is to be provisioned: whose credentials, which ones, and from which moment on.
///
/// A request becomes a `ProvisioningRun`, which adds randomness; a `Provisioner` makes a run into a keychain.
package struct ProvisioningRequest: Sendable {
    /// One of several parts of a request; each part makes other persons.
    package struct Shard: Sendable, Hashable {
        /// The number of the part, from 1 to `count`.
        package let number: Int
        /// How many parts there are.
        package let count: Int

        /// The part of a number; nil unless `number` is from 1 to `count`.
        package init?(number: Int, count: Int) {
            guard count >= 1, (1...count).contains(number) else { return nil }
            self.number = number
            self.count = count
        }
    }

    /// The persons that are known; the rest up to `personCount` are drawn at random.
    package var persons: [TestPerson]
    /// How many persons there are, in all parts together.
    package var personCount: Int
    /// What each person gets, one set after the other.
    package var sets: [CredentialSet]
    /// Where certificates say that the PKI answers.
    package var locations = PKILocations.example
    /// The part that is made; nil for the whole.
    package var shard: Shard?
    /// The moment that generations and relative starts count from.
    package var date: Date

    /// A request in which each person gets the same sets of credentials.
    ///
    /// - Parameter personCount: nil for the number of `persons`.
    package init(
        persons: [TestPerson] = [], personCount: Int? = nil, sets: [CredentialSet],
        date: Date = Date(timeIntervalSince1970: 0)
    ) {
        self.persons = persons
        self.personCount = personCount ?? persons.count
        self.sets = sets
        self.date = date
    }

    /// A request for so many generations of one set, the newest of which starts the day before `date`.
    package init(
        persons: [TestPerson] = [], personCount: Int? = nil, types: [CredentialType]? = nil,
        generations: Int = 4, algorithm: KeyAlgorithm? = nil, date: Date
    ) {
        var set = CredentialSet(starts: .generations(generations))
        set.types = types
        set.algorithm = algorithm
        self.init(persons: persons, personCount: personCount, sets: [set], date: date)
    }

    /// The credentials that each person gets, in order: set by set.
    ///
    /// - Throws: `ProvisioningError`: `.noSuchProfile`, `.typeNotInProfile`, `.dateOutOfRange`.
    func specs() throws(ProvisioningError) -> [CredentialSpec] {
        var specs: [CredentialSpec] = []
        for set in sets { specs += try set.specs(at: date) }
        return specs
    }

    /// The person of a number; a person that is not known is drawn from `source`, always the same for one number.
    func person(_ number: Int, from source: RandomSource) -> TestPerson {
        if number < persons.count { return persons[number] }
        var random = source.child("person \(number)").generator()
        return TestPerson(using: &random)
    }

    /// The numbers of the persons of the part that is made.
    var personNumbers: StrideTo<Int> {
        stride(from: (shard?.number ?? 1) - 1, to: personCount, by: shard?.count ?? 1)
    }

    /// How many persons the part has that is made.
    var shardPersonCount: Int {
        let (first, step) = ((shard?.number ?? 1) - 1, shard?.count ?? 1)
        return first < personCount ? (personCount - first + step - 1) / step : 0
    }

    /// A digest of everything that decides what the request makes, with starts as they are at `date`. It leaves out the
    /// shard, so that all parts of a request draw from one seed.
    func fingerprint(at date: Date) -> String {
        let names = persons.map {
            "\($0.commonName)/\($0.emailAddress)/\($0.agency)/\($0.cardHolder.joined())"
                + ($0.givenSecurityIdentifier.map { "/\($0)" } ?? "")
        }
        let parts: [String] =
            [names.joined(separator: ","), String(personCount)]
            + sets.flatMap { $0.fingerprint(at: date) } + [locations.repository]
        return Digest.sha256(Array(parts.joined(separator: "\n").utf8)).upperHex
    }
}
