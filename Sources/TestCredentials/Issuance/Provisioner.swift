internal import Diagnostics
internal import Foundation
package import KeyShareProvider
package import KeySharing
package import OpenSSL
internal import StandardExtensions

/// Generates test credentials in a provider's keychain.
///
/// The stages from a request to an identity are:
///
/// - A `ProvisioningRequest` describes the credentials.
/// - A `ProvisioningRun` adds the time and the randomness.
/// - The provisioner finds or creates the authorities.
/// - An `IssuancePipeline` generates and stores the identities. Its `IssuanceQueue` returns one `IssuanceJob` for each.
/// - A job generates the identity that a `CredentialSpec` describes.
///
/// An identity depends only on its position in the request and on the randomness, not on other identities, so any
/// number can be generated in parallel. Its serial number shows whether an earlier run has already generated it.
package struct Provisioner: Sendable {
    /// The provider's keychain.
    package let store: ProviderStore
    /// The maximum number of identities that are generated in parallel.
    package let width: Int
    /// The part of the keychain that receives the identities.
    package let publication: IdentityPublication
    /// Stops the run and counts the stored identities.
    let control: ProvisioningControl

    /// Creates a provisioner for a keychain.
    ///
    /// - Parameters:
    ///   - store: The provider's keychain.
    ///   - width: The number of identities that are generated in parallel. One for each core is fastest.
    ///   - publication: The part of the keychain that receives the identities.
    ///   - control: Stops the run and counts the stored identities.
    package init(
        _ store: ProviderStore, width: Int = ProcessInfo.processInfo.activeProcessorCount,
        as publication: IdentityPublication = .keySharing, control: ProvisioningControl = .init()
    ) {
        self.control = control
        self.store = store
        self.publication = publication
        self.width = max(width, 1)
    }

    /// The result of a provisioning run.
    package struct Outcome: Sendable {
        /// The first 1,000 identities that were generated, in order.
        package private(set) var made: [IdentitySummary] = []
        /// The number of identities that were generated.
        package private(set) var count = 0
        /// The number of identities that the keychain already contained, from an interrupted run or an earlier run with
        /// the same seed.
        package var skipped = 0
        /// Whether the run was stopped before it generated everything.
        package var isStopped = false

        /// The PKIs that issued certificates, without duplicates.
        package private(set) var authorities: [AuthorityUse] = []

        /// Creates the result of a run that generated nothing.
        package init() {}

        /// Records that the run used a PKI, unless this is already recorded.
        package mutating func note(_ use: AuthorityUse) {
            if !authorities.contains(where: { $0.root == use.root }) { authorities.append(use) }
        }

        /// Adds the result of another part of the run.
        package mutating func add(_ other: Outcome) {
            for use in other.authorities { note(use) }
            made += other.made.prefix(max(Self.mostKept - made.count, 0))
            count += other.count
            skipped += other.skipped
            isStopped = isStopped || other.isStopped
        }

        /// Adds generated identities.
        package mutating func add(made identities: some Collection<IdentitySummary>) {
            made += identities.prefix(max(Self.mostKept - made.count, 0))
            count += identities.count
        }

        private static let mostKept = 1000
    }

    /// A PKI that issued certificates in a run.
    package struct AuthorityUse: Sendable {
        /// The root certificate of the PKI.
        package let root: Certificate
        /// Whether the run created the PKI.
        package let isNew: Bool
        /// The root certificates of the other PKIs in the keychain.
        package let others: [Certificate]
    }

    /// Generates the identities of a run. Existing authorities that are valid for long enough issue the certificates;
    /// otherwise new authorities are created.
    ///
    /// - Parameters:
    ///   - run: The run.
    ///   - isWhole: Whether the run is finished when everything is generated. Otherwise a repetition continues it until
    ///     the caller calls ``ProvisioningStore/finishRun(of:)``.
    ///   - progress: Receives the number of identities that were generated or skipped so far.
    /// - Throws: `KeychainError` if identities cannot be stored. `OpenSSLError` and `CertificateError` if they cannot
    ///   be generated.
    package func run(
        _ run: ProvisioningRun, isWhole: Bool = true, progress: (Int) -> Void = { _ in }
    ) async throws -> Outcome {
        let starts = run.specs.map(\.validity.lowerBound)
        let ends = run.specs.map(\.validity.upperBound)
        let (authority, use) = try ProvisioningStore(store).authority(
            covering: (starts.min() ?? .distantPast)..<(ends.max() ?? .distantFuture),
            algorithm: run.specs.first?.algorithm ?? .rsa(bits: 2048), locations: run.request.locations,
            from: run.randomness.authorities)
        let queue = IssuanceQueue(run, present: Set(try store.heldIdentities().map(\.serialNumber)))
        // A transaction is short compared with the generation of its contents. With these batch sizes, a killed run
        // loses at most a few seconds of work.
        let isQuick = run.specs.allSatisfy(\.algorithm.isEllipticCurve)
        let pool = try await keyPool(of: run)
        var outcome = try await IssuancePipeline(
            store: store, publication: publication, authority: authority, pool: pool, control: control,
            width: width, batchSize: isQuick || !pool.isEmpty ? 512 : 32
        ).run(queue, progress: progress)
        outcome.note(use)
        if isWhole, !outcome.isStopped { try ProvisioningStore(store).finishRun(of: run.randomness) }
        return outcome
    }

    /// Generates the identities of a request. If this is interrupted, no later run continues it.
    ///
    /// - Throws: `ProvisioningError` if the request is invalid, and the errors of `run(_:progress:)`.
    package func run(
        _ request: ProvisioningRequest, from randomness: ProvisioningRandomness
    ) async throws -> Outcome {
        try await run(try ProvisioningRun(request, from: randomness), isWhole: false)
    }

    /// Generates the pool of keys of a run, by algorithm; empty if every identity gets a key of its own.
    private func keyPool(of run: ProvisioningRun) async throws -> [KeyAlgorithm: [PrivateKey]] {
        guard let size = run.request.keyPool else { return [:] }
        var pool: [KeyAlgorithm: [PrivateKey]] = [:]
        for algorithm in Set(run.specs.map(\.algorithm)) {
            let count = min(size, run.request.personCount * run.specs.count)
            pool[algorithm] = try await (0..<count).concurrentMap(width: width) { number in
                let source = run.randomness.keys.child("pool \(algorithm.rawValue) \(number)")
                return try PrivateKey.generate(algorithm, seed: source.seed)
            }
        }
        return pool
    }
}
