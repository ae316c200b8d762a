package import KeyShareProvider
package import Foundation
package import KeySharing
package import OpenSSL

/// Makes test credentials into a provider's keychain.
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
        let work = Work(
            request: request, slots: slots, drawing: drawing, keys: keys, present: present)
        // A transaction costs little beside what is in it, and a kill loses no more than seconds.
        let isQuick = slots.allSatisfy(\.algorithm.isEllipticCurve)
        let production = Production(
            store: store, authority: authority, width: width, batchSize: isQuick ? 512 : 32)
        return try await production.run(work, keeping: kept, progress: progress)
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
