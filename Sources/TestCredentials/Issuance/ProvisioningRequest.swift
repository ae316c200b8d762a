internal import DeviceSimulation
internal import Diagnostics
package import Foundation
package import KeyShareProvider
package import KeySharing
package import OpenSSL
package import PrivateFiles
internal import SecretMemory

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
    /// - Parameters:
    ///   - persons: whose credentials are made.
    ///   - personCount: nil for the number of `persons`.
    ///   - sets: the credentials that each person gets.
    ///   - date: the moment that generations and relative starts count from.
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

/// A request with the moment that it counts from and with the randomness for its credentials.
///
/// An interrupted run is continued by a run of the same request: it draws the same serial numbers, and leaves out what
/// the keychain holds by then.
package struct ProvisioningRun: Sendable {
    /// The request, with the moment that it counts from.
    let request: ProvisioningRequest
    /// What each person gets.
    let specs: [CredentialSpec]
    /// Where numbers and keys come from.
    let randomness: ProvisioningRandomness

    /// Begins a run of a request, or continues the one that was interrupted.
    ///
    /// - Parameters:
    ///   - request: what is to be made.
    ///   - store: the provider's keychain.
    ///   - seed: nil for a random run.
    ///   - purpose: tells runs of the same request apart that do different things.
    ///   - date: the moment that the request counts from; nil for now, which a run that was begun before remembers.
    ///   - now: the time on the clock.
    ///   - isRepeated: whether a request that a finished run has made is made once more. Otherwise the run finds that
    ///     everything is there.
    /// - Throws: `KeychainError` where the run cannot be noted; `ProvisioningError` for a request that makes no sense.
    package init(
        _ request: ProvisioningRequest, in store: ProviderStore, seed: Seed?, purpose: String = "provision",
        at date: Date?, now: Date, isRepeated: Bool = false
    ) throws {
        let (randomness, date) = try ProvisioningRandomness.begin(
            in: store, seed: seed, purpose: purpose, at: date, now: now, isRepeated: isRepeated,
            fingerprint: request.fingerprint)
        var request = request
        request.date = date
        self.request = request
        self.randomness = randomness
        specs = try request.specs()
    }

    /// How many identities the run makes, those included that the keychain holds by now.
    package var identityCount: Int { request.shardPersonCount * specs.count }
}

/// The randomness of a run, by what it is for.
///
/// From a seed everything follows from the seed. Without one, serial numbers and names come from a secret that the
/// keychain keeps, and keys come from the system. An interrupted run can therefore be continued, and a run of a request
/// that was finished finds that everything is there.
package struct ProvisioningRandomness: Sendable {
    /// The source of serial numbers, names and persons.
    let drawing: RandomSource
    /// The source of keys and signatures.
    let keys: RandomSource
    /// The source of new authorities, which all runs from one seed share.
    let authorities: RandomSource
    /// The account under which the keychain keeps the secret; nil where it keeps none.
    private let note: String?

    private init(drawing: RandomSource, keys: RandomSource, authorities: RandomSource, note: String?) {
        self.drawing = drawing
        self.keys = keys
        self.authorities = authorities
        self.note = note
    }

    /// One source for everything, for runs that are never continued.
    package init(_ source: RandomSource) {
        self.init(drawing: source, keys: source, authorities: source, note: nil)
    }

    /// The system's randomness for everything.
    package static let system = ProvisioningRandomness(.system)

    /// The randomness of one part of the run; authorities stay those of the run.
    func child(_ name: String) -> ProvisioningRandomness {
        ProvisioningRandomness(
            drawing: drawing.child(name), keys: keys.child(name), authorities: authorities, note: nil)
    }

    /// Finds the randomness of a run and the moment that it counts from.
    ///
    /// - Parameters:
    ///   - seed: nil for a random run.
    ///   - date: the moment to count from. Where it is nil, a seeded run takes the first moment of the year, and a
    ///     random run takes `now`, or the time at which it was begun first.
    ///   - isRepeated: whether a finished random run of the request is followed by a new one.
    ///   - fingerprint: names what is asked for, with starts as they are at a moment. Where the clock chooses the
    ///     moment, the name must not depend on it, and a fixed moment is passed.
    /// - Throws: `KeychainError` where the run cannot be noted.
    static func begin(
        in store: ProviderStore, seed: Seed?, purpose: String, at date: Date?, now: Date,
        isRepeated: Bool = false, fingerprint: (Date) -> String
    ) throws -> (ProvisioningRandomness, date: Date) {
        if let seed {
            let date = date ?? Calendar.utc.startOfYear(now)
            let part = RandomSource.seeded(seed.child(purpose + fingerprint(date)))
            return (Self(drawing: part, keys: part, authorities: .seeded(seed), note: nil), date)
        }
        let name = purpose + fingerprint(date ?? Date(timeIntervalSince1970: 0))
        if isRepeated { try store.forgetFinishedRun(name) }
        let secret = try store.run(name) {
            var random = RandomSource.system.generator()
            let numbers = (0..<4).map { _ in String(UInt64.random(in: 0 ... .max, using: &random), radix: 16)
            }
            return SecretBytes(utf8: "\(Int64(now.timeIntervalSince1970)) \(numbers.joined())")
        }
        let text = ProviderStore.text(secret).replacingOccurrences(of: ProviderStore.finishedMark, with: "")
        let began = text.split(separator: " ").first.flatMap { Double($0) } ?? now.timeIntervalSince1970
        return (
            Self(drawing: .seeded(Seed(text)), keys: .system, authorities: .system, note: name),
            date ?? Date(timeIntervalSince1970: began)
        )
    }

    /// Notes that the run is finished.
    ///
    /// - Throws: `KeychainError` where the keychain cannot be written.
    func finish(in store: ProviderStore) throws {
        if let note { try store.finishRun(note) }
    }
}

extension Date {
    /// The moment that a seeded run counts from where no date is given: the first of the year, so that the run gives
    /// the same all year.
    package var startOfSeededRuns: Date { Calendar.utc.startOfYear(self) }
}

extension ProviderStore {
    /// Waits until no other process provisions, and keeps others from it while the lock lives: two runs of one request
    /// would make equal serial numbers, and of two that write the authorities' register one would be lost.
    ///
    /// - Throws: `FileError` where the lock's file cannot be made.
    package func lockProvisioning() throws -> FileLock {
        try FileLock.acquire(try device.container(of: .provider) + "/provisioning.lock")
    }

    /// Reads the secret of a run.
    ///
    /// - Parameter make: makes the secret where the keychain has none of this name.
    /// - Throws: `KeychainError` where the secret can be neither read nor written.
    fileprivate func run(_ name: String, make: () -> SecretBytes) throws(KeychainError) -> SecretBytes {
        try keychain.createOrReadPassword(
            service: Self.runService, account: name, accessGroup: App.authorityGroup, make: make)
    }

    /// Marks the secret of a run as that of a finished one.
    ///
    /// - Throws: `KeychainError` where the keychain cannot be written.
    fileprivate func finishRun(_ name: String) throws(KeychainError) {
        guard let secret = try savedRun(name), !Self.text(secret).hasSuffix(Self.finishedMark) else { return }
        try keychain.setPassword(
            SecretBytes(utf8: Self.text(secret) + Self.finishedMark), service: Self.runService, account: name,
            accessGroup: App.authorityGroup)
    }

    /// Removes the secret of a run that was finished; that of an interrupted one stays, so that it is continued.
    ///
    /// - Throws: `KeychainError` where the keychain can be neither read nor written.
    fileprivate func forgetFinishedRun(_ name: String) throws(KeychainError) {
        guard let secret = try savedRun(name), Self.text(secret).hasSuffix(Self.finishedMark) else { return }
        try keychain.deletePassword(service: Self.runService, account: name, accessGroup: App.authorityGroup)
    }

    private func savedRun(_ name: String) throws(KeychainError) -> SecretBytes? {
        try keychain.password(service: Self.runService, account: name, accessGroup: App.authorityGroup)
    }

    fileprivate static func text(_ secret: SecretBytes) -> String {
        unsafe secret.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// What stands behind the secret of a finished run.
    fileprivate static let finishedMark = " finished"
    private static let runService = "KeyShareProvisioning"
}
