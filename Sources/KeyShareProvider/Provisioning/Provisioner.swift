package import Foundation
package import KeySharing
package import OpenSSL

/// Makes test credentials into a provider's key chain.
///
/// What an identity is depends on its place in the request and on the source, not on the others, so any number
/// of them is made at a time. Its serial number says whether an earlier run made it: a run that is started
/// again after it was interrupted leaves out what is there.
package struct Provisioner: Sendable {
    let store: ProviderStore
    /// How many keys are made at a time; one for each core is as quick as it gets.
    let width: Int

    package init(_ store: ProviderStore, width: Int = ProcessInfo.processInfo.activeProcessorCount) {
        self.store = store
        self.width = max(width, 1)
    }

    /// What came of a run.
    package struct Outcome: Sendable {
        /// The first identities that were made, in order; no more than fit a screen or a document.
        package var made: [IdentitySummary] = []
        /// How many were made.
        package var count = 0
        /// How many an interrupted run, or an earlier one from the same seed, had made.
        package var skipped = 0

        /// Nothing made yet.
        package init() {}

        /// Adds what another part of the work made.
        package mutating func add(_ other: Outcome) {
            made += other.made.prefix(max(Provisioner.mostKept - made.count, 0))
            count += other.count
            skipped += other.skipped
        }
    }

    /// Makes what is asked for, with the authorities of an earlier run where these will do.
    ///
    /// - Parameters:
    ///   - drawing: where serial numbers, names and persons come from.
    ///   - keys: where keys and signatures come from; nil for the same source.
    ///   - authorities: where new authorities come from; nil for the same source as keys.
    ///   - kept: how many summaries the outcome holds at most.
    ///   - progress: called with the number of identities dealt with so far.
    /// - Throws: `KeychainError` where they cannot be stored, `OpenSSLError` and `CertificateError` where they
    ///   cannot be made, `ProvisioningError` for a request that makes no sense.
    package func run(
        _ request: ProvisioningRequest, from drawing: RandomSource, keys: RandomSource? = nil,
        authorities: RandomSource? = nil, keeping kept: Int = Provisioner.mostKept,
        progress: (Int) -> Void = { _ in }
    ) async throws -> Outcome {
        let slots = try request.slots()
        let keys = keys ?? drawing
        let authority = try authority(for: request, slots, from: authorities ?? keys)
        let present = Set(try store.identities().map(\.serialNumber))
        var outcome = Outcome()
        var work = Work(request: request, slots: slots, drawing: drawing, keys: keys)
        while true {
            let batch = work.next(Self.batchSize, leavingOut: present)
            outcome.skipped += batch.skipped
            guard !batch.parts.isEmpty else { return outcome }
            let identities = try await batch.parts.concurrentMap(width: width) { try $0.make(authority) }
            for result in try store.add(identities) { _ = try result.get() }
            outcome.count += identities.count
            for identity in identities.prefix(max(kept - outcome.made.count, 0)) {
                outcome.made.append(IdentitySummary(identity.certificate))
            }
            progress(outcome.count + outcome.skipped)
        }
    }

    /// Makes the identities of a run.
    ///
    /// - Throws: as the other.
    package func run(_ run: ProvisioningRun, progress: (Int) -> Void = { _ in }) async throws -> Outcome {
        let sources = run.sources
        let outcome = try await self.run(
            run.request, from: sources.drawing, keys: sources.keys, authorities: sources.authorities,
            progress: progress)
        try sources.finish(in: store)
        return outcome
    }

    /// Large enough that a transaction costs little, small enough that a kill loses seconds.
    static let batchSize = 64
    /// How many summaries an outcome holds at most.
    private static let mostKept = 1000

    private func authority(
        for request: ProvisioningRequest, _ slots: [ProvisioningSlot], from source: RandomSource
    ) throws -> TestAuthority {
        let starts = slots.map(\.validity.lowerBound)
        let ends = slots.map(\.validity.upperBound)
        let span = (starts.min() ?? .distantPast)..<(ends.max() ?? .distantFuture)
        return try authority(
            covering: span, algorithm: slots.first?.algorithm ?? .rsa(bits: 2048),
            locations: request.locations, from: source)
    }

    /// The authorities of an earlier run where they are valid over the whole span, else new ones.
    ///
    /// - Throws: as `run`.
    package func authority(
        covering span: Range<Date>, algorithm: KeyAlgorithm, locations: PKILocations,
        from source: RandomSource
    ) throws -> TestAuthority {
        let known = try store.authorities()
        if let latest = known.last, latest.covers(span) { return latest }
        let name =
            "authorities \(span.lowerBound.timeIntervalSince1970) \(span.upperBound.timeIntervalSince1970)"
        let authority = try TestAuthority(
            algorithm: algorithm, validity: span, locations: locations,
            number: (known.map(\.number).max() ?? 0) + 1, from: source.child(name))
        try store.add(authority)
        return authority
    }
}

/// The identities of a request that are still to be made, in order.
private struct Work {
    let request: ProvisioningRequest
    let slots: [ProvisioningSlot]
    let drawing: RandomSource
    let keys: RandomSource
    private var persons: StrideTo<Int>.Iterator
    private var current: (number: Int, person: TestPerson)?
    private var slot = 0

    init(request: ProvisioningRequest, slots: [ProvisioningSlot], drawing: RandomSource, keys: RandomSource) {
        self.request = request
        self.slots = slots
        self.drawing = drawing
        self.keys = keys
        persons = request.personNumbers.makeIterator()
    }

    /// The next parts, so many at most, without those whose serial number is among `present`.
    mutating func next(_ count: Int, leavingOut present: Set<String>) -> (parts: [Part], skipped: Int) {
        var parts: [Part] = []
        var skipped = 0
        while parts.count < count {
            if current == nil || slot == slots.count {
                guard let number = persons.next() else { break }
                current = (number, request.person(number, from: drawing))
                slot = 0
            }
            guard let current else { break }
            let name = "identity \(current.number).\(slot)"
            let source = drawing.child(name)
            var random = source.generator()
            let part = Part(
                plan: IdentityPlan(
                    person: current.person, type: slots[slot].type, profile: slots[slot].profile,
                    algorithm: slots[slot].algorithm, validity: slots[slot].validity,
                    policyArc: slots[slot].policyArc, locations: request.locations),
                drawing: source, keys: keys.child(name))
            slot += 1
            if present.contains(SerialNumber.random(using: &random).upperHex) {
                skipped += 1
            } else {
                parts.append(part)
            }
        }
        return (parts, skipped)
    }

    /// One identity to be made.
    struct Part: Sendable {
        let plan: IdentityPlan
        let drawing: RandomSource
        let keys: RandomSource

        func make(_ authority: TestAuthority) throws -> (certificate: Certificate, privateKey: PrivateKey) {
            var random = drawing.generator()
            var plan = plan
            plan.authorityNumber = authority.number
            let template = try plan.template(using: &random)
            let key = try PrivateKey.generate(plan.algorithm, seed: keys.child("key").seed)
            let certificate = try authority[plan.issuer].issue(
                template, to: key, seed: keys.child("signature").seed)
            return (certificate, key)
        }
    }
}
