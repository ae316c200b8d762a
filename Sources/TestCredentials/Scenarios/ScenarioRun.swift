internal import Diagnostics
internal import CertificateReading
package import Foundation
package import KeyShareProvider
internal import KeySharing
internal import OpenSSL
internal import SecretMemory

/// A scenario with the moment that it counts from and with the randomness for its credentials.
package struct ScenarioRun: Sendable {
    /// What is made for one entry of the scenario's persons.
    struct Entry: Sendable {
        /// The persons and their credentials, without the defective ones.
        var request: ProvisioningRequest
        /// The credentials that each person gets.
        var specs: [CredentialSpec] = []
        /// The defective credentials that each person gets.
        let defects: [Scenario.Defect]
        /// The randomness of the entry.
        var randomness = ProvisioningRandomness.system
    }

    /// The moment that the scenario counts from.
    let date: Date
    /// The entries in the order of the scenario.
    let entries: [Entry]
    /// The randomness of the whole run.
    let randomness: ProvisioningRandomness

    /// Begins a run of a scenario, or continues the one that was interrupted.
    ///
    /// - Parameters:
    ///   - scenario: the scenario.
    ///   - store: the provider's keychain.
    ///   - seed: the number of a seeded run; nil for a random one.
    ///   - date: the moment that the scenario counts from; nil for now, which an interrupted run remembers.
    ///   - now: the time on the clock.
    ///   - locations: where certificates say that the PKI answers.
    ///   - purpose: tells runs of the same scenario apart that do different things.
    /// - Throws: `KeychainError` where the run cannot be noted; `ProvisioningError` for a scenario that makes no sense.
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

    /// How many identities the scenario makes, a test vector counted as one.
    package var identityCount: Int {
        entries.reduce(0) { $0 + $1.request.personCount * ($1.specs.count + $1.defects.count) }
    }
}

extension Scenario {
    /// Makes an entry for each entry of persons; moment and randomness are still missing.
    fileprivate func entries(
        seed: UInt64?, locations: PKILocations
    ) throws(ProvisioningError) -> [ScenarioRun.Entry] {
        var entries: [ScenarioRun.Entry] = []
        var number = 0
        for persons in self.persons {
            var request = ProvisioningRequest(personCount: persons.count, sets: persons.credentials)
            request.locations = locations
            if persons.description != PersonDescription() {
                // A person is drawn by number, so that two entries of one description are different persons.
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
    /// Makes a scenario into the keychain, beside what the keychain holds: credentials first, then test vectors.
    ///
    /// - Parameters:
    ///   - run: what is to be made.
    ///   - progress: receives the number of identities that were made or skipped so far.
    /// - Throws: `KeychainError` where identities cannot be stored; `OpenSSLError`, `CertificateError` and
    ///   `PKCS12Error` where they cannot be made.
    package func run(_ run: ScenarioRun, progress: (Int) -> Void = { _ in }) async throws -> Outcome {
        var outcome = Outcome()
        guard let (authority, use) = try authority(for: run) else { return outcome }
        outcome.note(use)
        for entry in run.entries where !entry.specs.isEmpty {
            let part = try await issue(entry.specs, of: entry.request, from: entry.randomness) {
                progress(outcome.count + outcome.skipped + $0)
            }
            outcome.add(part)
        }
        outcome.add(try await installTestVectors(of: run, below: authority))
        progress(outcome.count + outcome.skipped)
        try run.randomness.finish(in: store)
        return outcome
    }

    /// Finds or makes authorities that are valid for everything of the scenario; nil where the scenario is empty.
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

    /// Makes the test vectors of a scenario and stores them.
    ///
    /// Their keys come from the randomness of their serial numbers: a run that is continued makes identical
    /// certificates, of which the keychain keeps one.
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
