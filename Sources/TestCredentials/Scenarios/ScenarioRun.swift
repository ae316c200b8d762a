internal import CertificateReading
package import KeyShareProvider
internal import SecretMemory
internal import DeviceSimulation
package import Foundation
internal import KeySharing
internal import OpenSSL

/// A scenario to be made: its requests, with where their numbers come from.
package struct ScenarioRun: Sendable {
    let sources: ProvisioningSources
    let persons: [Scenario.Persons]
    /// One for each entry of `persons`.
    let requests: [ProvisioningRequest]

    /// A run of a scenario.
    ///
    /// - Parameters:
    ///   - seed: the number of a seeded run; nil for a random one.
    ///   - date: the moment that the scenario counts from; nil for now, which an interrupted run remembers.
    /// - Throws: `KeychainError`, `ProvisioningError`.
    package init(
        _ scenario: Scenario, in store: ProviderStore, seed: UInt64?, at date: Date?,
        locations: PKILocations = .example
    ) throws {
        func requests(_ date: Date) throws -> [ProvisioningRequest] {
            try scenario.requests(at: date, seed: seed, locations: locations)
        }
        persons = scenario.persons
        sources = try ProvisioningSources(
            in: store, seed: seed.map { Seed(String($0)) }, purpose: "scenario", at: date
        ) { date, isFixed in
            // Where the clock chose the moment, any other tells scenarios apart as well.
            try requests(isFixed ? date : Date(timeIntervalSince1970: 0))
                .map { $0.fingerprint(withStarts: true) }.joined(separator: " ")
                + scenario.persons.flatMap(\.faults).map { " \($0.specimen.name) \($0.algorithm.rawValue)" }
                .joined()
        }
        self.requests = try requests(sources.date)
    }

    /// How many identities there will be, a fault counted as one.
    ///
    /// - Throws: `ProvisioningError`.
    package func count() throws(ProvisioningError) -> Int {
        var count = 0
        for (entry, request) in zip(persons, requests) {
            if !request.sets.isEmpty { count += try request.identityCount() }
            count += entry.count * entry.faults.count
        }
        return count
    }
}

extension Scenario {
    /// A request for each entry of persons, without the faults.
    fileprivate func requests(
        at date: Date, seed: UInt64?, locations: PKILocations
    ) throws -> [ProvisioningRequest] {
        var number = 0
        return try persons.map { entry in
            defer { number += entry.count }
            var request = ProvisioningRequest(
                personCount: entry.count, sets: entry.credentials.map { $0.set(at: date) })
            request.locations = locations
            if entry.description != PersonDescription() {
                // Two entries of the same description are two persons.
                let nobody = [PersonDescription](repeating: PersonDescription(), count: number)
                let described = [PersonDescription](repeating: entry.description, count: entry.count)
                request.persons = Array(
                    try PersonDescription.persons(nobody + described, seed: seed).dropFirst(number))
            }
            return request
        }
    }
}

extension Scenario.Credentials {
    fileprivate func set(at date: Date) -> CredentialSet {
        func generations(_ count: Int) -> [Date] {
            CredentialSet.starts(generations: count, before: date, every: interval)
        }
        var set: CredentialSet
        switch starts {
        case .at(let moments):
            set = CredentialSet(starts: moments.map { $0.date(from: date) }.sorted(by: >))
            set.recovered = recovered
        case .generations(0):
            // Recovered keys alone are older than a generation that is not there.
            set = CredentialSet(starts: Array(generations(recovered + 1).dropFirst()))
        case .generations(let count):
            set = CredentialSet(starts: generations(count))
            set.recovered = recovered
        }
        set.types = types
        set.interval = interval
        set.profile = profile
        set.algorithm = algorithm
        set.policyArc = policyArc
        return set
    }
}

extension Provisioner {
    /// Makes a scenario into the keychain, beside what is there: credentials first, then faults.
    ///
    /// - Parameter progress: called with the number of identities dealt with so far.
    /// - Throws: as for a request; what making specimens throws.
    package func run(_ run: ScenarioRun, progress: (Int) -> Void = { _ in }) async throws -> Outcome {
        var outcome = Outcome()
        guard let authority = try authority(for: run) else { return outcome }
        for (number, request) in run.requests.enumerated() where !request.sets.isEmpty {
            let part = try await self.run(
                request, from: run.sources.drawing.child("persons \(number)"),
                keys: run.sources.keys.child("persons \(number)"), authorities: run.sources.authorities
            ) { progress(outcome.count + outcome.skipped + $0) }
            outcome.add(part)
        }
        outcome.add(try await makeFaults(of: run, below: authority))
        progress(outcome.count + outcome.skipped)
        try run.sources.finish(in: store)
        return outcome
    }

    /// Authorities that are valid for everything of the scenario; nil where it is empty.
    private func authority(for run: ScenarioRun) throws -> TestAuthority? {
        let slots = try run.requests.flatMap { try $0.slots() }
        var spans = slots.map(\.validity)
        let faults = run.persons.flatMap(\.faults)
        if !faults.isEmpty { spans.append(SpecimenCollection.span(at: run.sources.date)) }
        guard let start = spans.map(\.lowerBound).min(), let end = spans.map(\.upperBound).max() else {
            return nil
        }
        return try authority(
            covering: start..<end,
            algorithm: slots.first?.algorithm ?? faults.first?.algorithm ?? .rsa(bits: 2048),
            locations: run.requests.first?.locations ?? .example, from: run.sources.authorities)
    }

    /// Makes the specimens of a scenario.
    ///
    /// Their keys come from the source of their serial numbers: made again after an interruption they are the
    /// same to the byte, and what was there already stays the only one.
    private func makeFaults(of run: ScenarioRun, below authority: TestAuthority) async throws -> Outcome {
        var work: [(specimen: Specimen, shop: Workshop)] = []
        for (number, (entry, request)) in zip(run.persons, run.requests).enumerated() {
            let source = run.sources.drawing.child("persons \(number)")
            for person in 0..<entry.count {
                for (index, fault) in entry.faults.enumerated() {
                    let shop = Workshop(
                        authority: authority, person: request.person(person, from: source),
                        date: run.sources.date, algorithm: fault.algorithm, password: SecretBytes([]),
                        locations: request.locations, source: source.child("fault \(person).\(index)"))
                    work.append((fault.specimen, shop.bench(for: fault.specimen.name)))
                }
            }
        }
        var outcome = Outcome()
        let batchSize = 64
        for start in stride(from: 0, to: work.count, by: batchSize) {
            let batch = Array(work[start..<min(start + batchSize, work.count)])
            for product in try await batch.concurrentMap(width: width, { try $0.specimen.make($0.shop) }) {
                guard case .identities(let identities, let isRevoked) = product else { continue }
                outcome.add(try add(identities))
                if isRevoked {
                    try store.register(revoked: identities.map(\.certificate), at: run.sources.date)
                }
            }
        }
        return outcome
    }

    private func add(_ identities: [TestIdentity]) throws -> Outcome {
        var outcome = Outcome()
        let results = try store.add(identities.map { ($0.certificate, $0.privateKey) })
        for (identity, result) in zip(identities, results) {
            switch try result.get() {
            case .added:
                outcome.count += 1
                outcome.made.append(IdentitySummary(identity.certificate))
            case .duplicate: outcome.skipped += 1
            }
        }
        return outcome
    }
}
