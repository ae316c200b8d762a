internal import Diagnostics
package import Foundation
package import KeyShareProvider
package import KeySharing
package import OpenSSL

/// The maker of test credentials in a provider's keychain.
///
/// From the request to the identity: a `ProvisioningRequest` says what is made, a `ProvisioningRun` adds moment and
/// randomness, the provisioner finds the authorities, an `IssuancePipeline` makes and stores, its `IssuanceQueue` gives
/// one `IssuanceJob` for each identity, and a job follows a `CredentialSpec`.
///
/// What an identity is depends on its place in the request and on the randomness, not on other identities, so that any
/// number of them can be made at a time. Its serial number tells whether an earlier run made it.
package struct Provisioner: Sendable {
    /// The keychain.
    let store: ProviderStore
    /// How many identities are made at a time.
    let width: Int
    /// Where the identities go.
    let publication: IdentityPublication

    /// A provisioner for a keychain.
    ///
    /// - Parameters:
    ///   - store: the provider's keychain.
    ///   - width: how many identities are made at a time; one for each core is fastest.
    ///   - publication: where the identities go.
    package init(
        _ store: ProviderStore, width: Int = ProcessInfo.processInfo.activeProcessorCount,
        as publication: IdentityPublication = .keySharing
    ) {
        self.store = store
        self.publication = publication
        self.width = max(width, 1)
    }

    /// The result of a run.
    package struct Outcome: Sendable {
        /// The first identities that were made, in order; not more than 1,000.
        package private(set) var made: [IdentitySummary] = []
        /// How many identities were made.
        package private(set) var count = 0
        /// How many identities the keychain held already, from an interrupted run or from an earlier one of the seed.
        package var skipped = 0

        /// The PKIs that issued, each once.
        package private(set) var authorities: [AuthorityUse] = []

        /// The result of a run that made nothing.
        package init() {}

        /// Notes that a PKI was used, unless it is noted already.
        package mutating func note(_ use: AuthorityUse) {
            if !authorities.contains(where: { $0.root == use.root }) { authorities.append(use) }
        }

        /// Adds the result of another part of the work.
        package mutating func add(_ other: Outcome) {
            for use in other.authorities { note(use) }
            made += other.made.prefix(max(Self.mostKept - made.count, 0))
            count += other.count
            skipped += other.skipped
        }

        /// Adds identities that were made.
        mutating func add(made identities: some Collection<IdentitySummary>) {
            made += identities.prefix(max(Self.mostKept - made.count, 0))
            count += identities.count
        }

        private static let mostKept = 1000
    }

    /// The use of a PKI by a run.
    package struct AuthorityUse: Sendable {
        /// The certificate of the root.
        package let root: Certificate
        /// Whether the run made the PKI.
        package let isNew: Bool
        /// The roots of the other PKIs that the keychain held.
        package let others: [Certificate]
    }

    /// Makes the identities of a run, below the authorities of an earlier run where these are valid long enough.
    ///
    /// - Parameters:
    ///   - run: what is to be made.
    ///   - progress: receives the number of identities that were made or skipped so far.
    /// - Throws: `KeychainError` where identities cannot be stored; `OpenSSLError` and `CertificateError` where they
    ///   cannot be made.
    package func run(_ run: ProvisioningRun, progress: (Int) -> Void = { _ in }) async throws -> Outcome {
        let outcome = try await issue(run.specs, of: run.request, from: run.randomness, progress: progress)
        try run.randomness.finish(in: store)
        return outcome
    }

    /// Makes the identities of a request that is not continued after an interruption.
    ///
    /// - Throws: `ProvisioningError` for a request that makes no sense, and the errors of `run(_:progress:)`.
    package func run(
        _ request: ProvisioningRequest, from randomness: ProvisioningRandomness
    ) async throws -> Outcome {
        try await issue(try request.specs(), of: request, from: randomness)
    }

    /// Makes identities of `specs` for each person of `request`.
    ///
    /// - Throws: `KeychainError` where identities cannot be stored; `OpenSSLError` and `CertificateError` where they
    ///   cannot be made.
    func issue(
        _ specs: [CredentialSpec], of request: ProvisioningRequest, from randomness: ProvisioningRandomness,
        progress: (Int) -> Void = { _ in }
    ) async throws -> Outcome {
        let starts = specs.map(\.validity.lowerBound)
        let ends = specs.map(\.validity.upperBound)
        let (authority, use) = try authority(
            covering: (starts.min() ?? .distantPast)..<(ends.max() ?? .distantFuture),
            algorithm: specs.first?.algorithm ?? .rsa(bits: 2048), locations: request.locations,
            from: randomness.authorities)
        let queue = IssuanceQueue(
            request: request, specs: specs, randomness: randomness,
            present: Set(try store.heldIdentities().map(\.serialNumber)))
        // A transaction costs little beside what is in it, and a killed run loses a few seconds of work at most.
        let isQuick = specs.allSatisfy(\.algorithm.isEllipticCurve)
        var outcome = try await IssuancePipeline(
            store: store, publication: publication, authority: authority, width: width,
            batchSize: isQuick ? 512 : 32
        ).run(queue, progress: progress)
        outcome.note(use)
        return outcome
    }

    /// Finds the authorities that were made last of those that are valid over all of `span`, and makes new ones where
    /// there are none.
    ///
    /// New authorities are valid for longer than the run needs: over everything that provisioning makes unless it is told
    /// dates (a scenario's older generations, recovered keys, faults of expired certificates), so that an anchor that was
    /// installed covers what is made later.
    ///
    /// - Parameters:
    ///   - span: the time over which the authorities must be valid.
    ///   - algorithm: the algorithm of new authorities' keys.
    ///   - locations: where the certificates of new authorities say that the PKI answers.
    ///   - source: where new authorities' keys and numbers come from.
    /// - Throws: `KeychainError` where authorities can be neither read nor stored; `OpenSSLError` and
    ///   `CertificateError` where new ones cannot be made.
    package func authority(
        covering span: Range<Date>, algorithm: KeyAlgorithm, locations: PKILocations,
        from source: RandomSource
    ) throws -> (authority: TestAuthority, use: AuthorityUse) {
        let known = try store.authorities()
        func use(_ authority: TestAuthority, isNew: Bool) -> (TestAuthority, AuthorityUse) {
            let root = authority[.root].certificate
            let others = known.map { $0[.root].certificate }.filter { $0 != root }
            return (authority, AuthorityUse(root: root, isNew: isNew, others: others))
        }
        if let latest = known.last(where: { $0.covers(span) }) { return use(latest, isNew: false) }
        let name =
            "authorities \(span.lowerBound.timeIntervalSince1970) \(span.upperBound.timeIntervalSince1970)"
        let authority = try TestAuthority(
            algorithm: algorithm, validity: Self.widened(span), locations: locations,
            number: (known.map(\.number).max() ?? 0) + 1, from: source.child(name))
        try store.add(authority)
        return use(authority, isNew: true)
    }

    /// The span with everything before it that provisioning makes by default in the same year: eight generations.
    private static func widened(_ span: Range<Date>) -> Range<Date> {
        let start = Calendar.utc.adding(years: -usualYears, to: span.upperBound)
        return min(start, span.lowerBound)..<span.upperBound
    }

    /// The years from the start of the oldest certificate that is made by default to the end of the newest: those of eight
    /// generations, and more than those of the faults, which reach ten years back and five ahead.
    private static let usualYears = 27
}
