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
        /// The persons and their credentials, without the defective ones.
        var request: ProvisioningRequest
        /// The specifications of each person's credentials.
        var specs: [CredentialSpec] = []
        /// The defective identities of each person.
        let defects: [Scenario.Defect]
        /// The randomness of the entry.
        var randomness = ProvisioningRandomness.system
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
        var entries = try scenario.entries(seed: seed, locations: locations)
        (randomness, self.date) = try ProvisioningRandomness.begin(
            in: store, seed: seed.map { Seed(String($0)) }, purpose: purpose, at: date, now: now
        ) { date in
            entries.map { $0.request.fingerprint(at: date) }.joined(separator: " ")
                + entries.flatMap(\.defects).map { " \($0.vector.name) \($0.algorithm.rawValue)" }.joined()
        }
        for index in entries.indices {
            entries[index].request.date = self.date
            entries[index].specs = try entries[index].request.specs()
            entries[index].randomness = randomness.child("persons \(index)")
        }
        self.entries = entries
    }

    /// The number of identities of the scenario. A test vector counts as one.
    package var identityCount: Int {
        entries.reduce(0) { $0 + $1.request.personCount * ($1.specs.count + $1.defects.count) }
    }
}

extension Scenario {
    /// Creates the entries of a run, without the time and the randomness.
    fileprivate func entries(
        seed: UInt64?, locations: PKILocations
    ) throws(ProvisioningError) -> [ScenarioRun.Entry] {
        var entries: [ScenarioRun.Entry] = []
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
            entries.append(ScenarioRun.Entry(request: request, defects: persons.defects))
            number += persons.count
        }
        return entries
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
        for entry in run.entries where !entry.specs.isEmpty {
            let part = try await issue(entry.specs, of: entry.request, from: entry.randomness) {
                progress(outcome.count + outcome.skipped + $0)
            }
            outcome.add(part)
            if outcome.isStopped { return outcome }
        }
        outcome.add(try await installTestVectors(of: run, below: authority))
        progress(outcome.count + outcome.skipped)
        try run.randomness.finish(in: store)
        return outcome
    }

    /// Finds or creates authorities that are valid for all certificates of the scenario. Returns nil if the scenario is
    /// empty.
    private func authority(for run: ScenarioRun) throws -> (authority: TestAuthority, use: AuthorityUse)? {
        let specs = run.entries.flatMap(\.specs)
        let defects = run.entries.flatMap(\.defects)
        let spans = specs.map(\.validity) + (defects.isEmpty ? [] : [TestVectorSuite.span(at: run.date)])
        guard let start = spans.map(\.lowerBound).min(), let end = spans.map(\.upperBound).max() else {
            return nil
        }
        return try authority(
            covering: start..<end,
            algorithm: specs.first?.algorithm ?? defects.first?.algorithm ?? .rsa(bits: 2048),
            locations: run.entries.first?.request.locations ?? .example, from: run.randomness.authorities)
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
            let source = entry.randomness.drawing
            for person in 0..<entry.request.personCount {
                for (index, defect) in entry.defects.enumerated() {
                    let context = TestVectorContext(
                        authority: authority, person: entry.request.person(person, from: source),
                        date: run.date, algorithm: defect.algorithm, password: SecretBytes([]),
                        locations: entry.request.locations, source: source.child("fault \(person).\(index)"))
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
