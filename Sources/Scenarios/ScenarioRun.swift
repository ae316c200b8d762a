internal import CertificateReading
internal import Diagnostics
package import Foundation
package import KeyShareProvider
internal import KeySharing
internal import OpenSSL
internal import SecretMemory
internal import StandardExtensions
package import TestCredentials
internal import TestVectors

/// A scenario with its time and with the randomness for its credentials.
package struct ScenarioRun: Sendable {
    /// The credentials of one entry in the scenario's list of persons.
    struct Entry: Sendable {
        /// The run for the persons and their credentials, without the defective ones.
        let run: ProvisioningRun
        /// The defective identities of each person.
        let defects: [Scenario.Defect]
    }

    /// The time that relative times refer to.
    let date: Date
    /// The entries, in the order of the scenario.
    let entries: [Entry]
    /// The randomness of the whole scenario.
    let randomness: ProvisioningRandomness

    /// Starts a run of a scenario, or continues an interrupted one.
    ///
    /// - Parameters:
    ///   - scenario: The scenario.
    ///   - store: The provider's keychain.
    ///   - seed: The number of a seeded run, or nil for a random run.
    ///   - date: The time that relative times refer to. Nil uses `now`, or the recorded time of an interrupted run.
    ///   - now: The current time.
    ///   - locations: The URLs of the PKI in the certificates.
    ///   - purpose: Distinguishes runs of the same scenario for different commands.
    /// - Throws: `KeychainError` if the run cannot be recorded. `ProvisioningError` if the scenario is invalid.
    package init(
        _ scenario: Scenario, in store: ProviderStore, seed: UInt64?, at date: Date?, now: Date,
        locations: PKILocations = .example, purpose: String = "scenario"
    ) throws {
        let requests = try scenario.requests(seed: seed, locations: locations)
        let (randomness, date) = try ProvisioningStore(store).beginRun(
            seed: seed.map { Seed(String($0)) }, purpose: purpose, at: date, now: now
        ) { date in
            let defects = scenario.persons.flatMap(\.defects)
            return requests.map { $0.fingerprint(at: date) }.joined(separator: " ")
                + defects.map { " \($0.vector.name) \($0.algorithm.rawValue)" }.joined()
        }
        self.date = date
        self.randomness = randomness
        var entries: [Entry] = []
        for (index, persons) in scenario.persons.enumerated() {
            var request = requests[index]
            request.date = date
            let run = try ProvisioningRun(request, from: randomness.child("persons \(index)"))
            entries.append(Entry(run: run, defects: persons.defects))
        }
        self.entries = entries
    }

    /// The number of identities of the scenario. A test vector counts as one.
    package var identityCount: Int {
        entries.reduce(0) { $0 + $1.run.request.personCount * ($1.run.specs.count + $1.defects.count) }
    }
}

extension Scenario {
    /// Creates the request for each entry in the list of persons, without the time.
    fileprivate func requests(
        seed: UInt64?, locations: PKILocations
    ) throws(ProvisioningError) -> [ProvisioningRequest] {
        var requests: [ProvisioningRequest] = []
        var number = 0
        for persons in self.persons {
            var request = ProvisioningRequest(personCount: persons.count, sets: persons.credentials)
            request.locations = locations
            if persons.description != PersonDescription() {
                // A person is drawn by number, so that two entries with the same description are different persons.
                let others = [PersonDescription](repeating: PersonDescription(), count: number)
                let described = [PersonDescription](repeating: persons.description, count: persons.count)
                request.persons = Array(
                    try PersonDescription.persons(others + described, seed: seed).dropFirst(number))
            }
            requests.append(request)
            number += persons.count
        }
        return requests
    }
}

extension Provisioner {
    /// Generates the credentials and then the test vectors of a scenario, and adds them to the keychain.
    ///
    /// - Parameters:
    ///   - run: The credentials and test vectors to generate.
    ///   - progress: Receives the number of identities that were generated or skipped so far.
    /// - Throws: `KeychainError` if identities cannot be stored. `OpenSSLError`, `CertificateError` and `PKCS12Error`
    ///   if they cannot be generated.
    package func run(_ run: ScenarioRun, progress: (Int) -> Void = { _ in }) async throws -> Outcome {
        var outcome = Outcome()
        guard let (authority, use) = try authority(for: run) else { return outcome }
        outcome.note(use)
        for entry in run.entries where !entry.run.specs.isEmpty {
            let part = try await self.run(entry.run, isWhole: false) {
                progress(outcome.count + outcome.skipped + $0)
            }
            outcome.add(part)
            if outcome.isStopped { return outcome }
        }
        outcome.add(try await installTestVectors(of: run, below: authority))
        progress(outcome.count + outcome.skipped)
        try ProvisioningStore(store).finishRun(of: run.randomness)
        return outcome
    }

    /// Finds or creates authorities that are valid for all certificates of the scenario. Returns nil if the scenario is
    /// empty.
    private func authority(for run: ScenarioRun) throws -> (authority: TestAuthority, use: AuthorityUse)? {
        let specs = run.entries.flatMap(\.run.specs)
        let defects = run.entries.flatMap(\.defects)
        let spans = specs.map(\.validity) + (defects.isEmpty ? [] : [TestVectorSuite.span(at: run.date)])
        guard let start = spans.map(\.lowerBound).min(), let end = spans.map(\.upperBound).max() else {
            return nil
        }
        return try ProvisioningStore(store).authority(
            covering: start..<end,
            algorithm: specs.first?.algorithm ?? defects.first?.algorithm ?? .rsa(bits: 2048),
            locations: run.entries.first?.run.request.locations ?? .example, from: run.randomness.authorities)
    }

    /// Generates the test vectors of a scenario and stores them.
    ///
    /// The keys are derived from the same randomness as the serial numbers. A run that is continued therefore generates
    /// identical certificates, and the keychain stores each of them once.
    private func installTestVectors(
        of run: ScenarioRun, below authority: TestAuthority
    ) async throws -> Outcome {
        var vectors: [(vector: TestVector, context: TestVectorContext)] = []
        for entry in run.entries {
            let (request, source) = (entry.run.request, entry.run.randomness.drawing)
            for person in 0..<request.personCount {
                for (index, defect) in entry.defects.enumerated() {
                    let context = TestVectorContext(
                        authority: authority, person: request.person(person, from: source),
                        date: run.date, algorithm: defect.algorithm, password: SecretBytes([]),
                        locations: request.locations, source: source.child("fault \(person).\(index)"))
                    vectors.append((defect.vector, context))
                }
            }
        }
        var outcome = Outcome()
        let batchSize = 64
        for start in stride(from: 0, to: vectors.count, by: batchSize) {
            let batch = Array(vectors[start..<min(start + batchSize, vectors.count)])
            for made in try await batch.concurrentMap(width: width, { try $0.vector.make(in: $0.context) }) {
                outcome.add(try made.install(into: store, as: publication))
            }
        }
        return outcome
    }
}
