internal import DeviceSimulation
internal import Dispatch
internal import KeyShareProvider
internal import KeySharing
internal import OpenSSL
internal import StandardExtensions

/// The description of one identity to generate.
struct IssuanceJob: Sendable {
    /// The number of the identity in the whole request, from zero.
    let number: Int
    let person: TestPerson
    let spec: CredentialSpec
    let locations: PKILocations
    /// The serial number of the future certificate.
    let serialNumber: [UInt8]
    /// The generator that returned the serial number. The other random values of the certificate follow.
    let random: RandomSource.Generator
    /// The source of the identity's key and signature.
    let keys: RandomSource

    /// Generates the identity's key, or chooses one from the pool, and issues the certificate.
    ///
    /// - Parameters:
    ///   - authority: The PKI that issues the certificate.
    ///   - pool: The shared keys, by algorithm. Other algorithms get a new key.
    /// - Throws: `OpenSSLError` and `CertificateError` if OpenSSL fails.
    func make(
        below authority: TestAuthority, pool: [KeyAlgorithm: [PrivateKey]] = [:]
    ) throws -> (certificate: Certificate, privateKey: PrivateKey) {
        var random = random
        let template = try spec.template(
            for: person, serialNumber: serialNumber, below: authority, in: locations, using: &random)
        let key: PrivateKey
        if let pool = pool[spec.algorithm], !pool.isEmpty {
            key = pool[number % pool.count]
        } else {
            key = try PrivateKey.generate(spec.algorithm, seed: keys.child("key").seed)
        }
        let certificate = try authority[spec.issuer].issue(
            template, to: key, seed: keys.child("signature").seed)
        return (certificate, key)
    }
}

/// The identities of a run that have not been generated yet, ordered by person and then by spec.
struct IssuanceQueue {
    private let run: ProvisioningRun
    private let present: Set<String>
    private var persons: StrideTo<Int>.Iterator
    private var current: (number: Int, person: TestPerson)?
    private var index = 0
    /// The number of identities that were skipped because the keychain contains them.
    private(set) var skipped = 0

    /// Creates the queue of a whole run.
    ///
    /// - Parameters:
    ///   - run: The run.
    ///   - present: The serial numbers of the keychain's identities, in upper-case hexadecimal.
    init(_ run: ProvisioningRun, present: Set<String>) {
        self.run = run
        self.present = present
        persons = run.request.personNumbers.makeIterator()
    }

    /// Removes and returns the next job, or nil at the end.
    mutating func next() -> IssuanceJob? {
        while true {
            if current == nil || index == run.specs.count {
                guard let number = persons.next() else { return nil }
                current = (number, run.request.person(number, from: run.randomness.drawing))
                index = 0
            }
            guard let current, index < run.specs.count else { continue }
            let source = run.randomness.child("identity \(current.number).\(index)")
            var random = source.drawing.generator()
            let serialNumber = SerialNumber.random(using: &random)
            let job = IssuanceJob(
                number: current.number * run.specs.count + index, person: current.person,
                spec: run.specs[index], locations: run.request.locations, serialNumber: serialNumber,
                random: random, keys: source.keys)
            index += 1
            if !present.isEmpty, present.contains(serialNumber.upperHex) {
                skipped += 1
                continue
            }
            return job
        }
    }
}

/// Generates identities in parallel, and stores them in batches while the next ones are being generated.
struct IssuancePipeline {
    /// The keychain that receives the identities.
    let store: ProviderStore
    /// The part of the keychain that receives the identities.
    let publication: IdentityPublication
    /// The authorities that issue certificates.
    let authority: TestAuthority
    /// The shared keys, by algorithm. Other algorithms get a new key for each identity.
    let pool: [KeyAlgorithm: [PrivateKey]]
    /// Stops the run and counts the stored identities.
    let control: ProvisioningControl
    /// The maximum number of identities that are generated in parallel.
    let width: Int
    /// The number of identities that are stored in one transaction.
    let batchSize: Int

    private enum Event: Sendable {
        case made(Int, ProviderStore.PreparedIdentity)
        case stored
    }

    /// Generates and stores the identities of all jobs, in order.
    ///
    /// - Parameter progress: Receives the number of identities that were generated or skipped so far.
    /// - Throws: `KeychainError`, `OpenSSLError` or `CertificateError`. Identities that were stored before remain.
    func run(_ jobs: IssuanceQueue, progress: (Int) -> Void) async throws -> Provisioner.Outcome {
        try await withThrowingTaskGroup(of: Event.self) { group in
            var jobs = jobs
            var outcome = Provisioner.Outcome()
            // Generated identities that wait for an earlier one, because identities are stored in order.
            var early: [Int: ProviderStore.PreparedIdentity] = [:]
            var ready: [ProviderStore.PreparedIdentity] = []
            var (started, finished, ordered, isStoring) = (0, 0, 0, false)

            func start() {
                // If storing is slower than generating, generating pauses.
                while !control.isStopped, started - finished < width, ready.count < 4 * batchSize,
                    let job = jobs.next()
                {
                    let number = started
                    started += 1
                    group.addTask { [store, authority, pool] in
                        let (certificate, privateKey) = try job.make(below: authority, pool: pool)
                        return .made(number, try store.prepare(certificate, privateKey))
                    }
                }
            }
            func storeBatch() {
                let isLast = started == finished
                guard !isStoring, !ready.isEmpty, isLast || ready.count >= batchSize else { return }
                let batch = ready
                ready = []
                isStoring = true
                group.addTask { [self] in
                    try await store(batch)
                    return .stored
                }
                outcome.add(made: batch.map(\.summary))
            }

            start()
            while let event = try await group.next() {
                switch event {
                case .made(let number, let identity):
                    early[number] = identity
                    finished += 1
                    while let next = early.removeValue(forKey: ordered) {
                        ready.append(next)
                        ordered += 1
                    }
                    progress(finished + jobs.skipped)
                case .stored: isStoring = false
                }
                start()
                storeBatch()
            }
            outcome.isStopped = control.isStopped && jobs.next() != nil
            outcome.skipped = jobs.skipped
            return outcome
        }
    }

    /// Stores identities in one transaction. A separate thread waits for the disk while other threads compute.
    private func store(_ batch: [ProviderStore.PreparedIdentity]) async throws {
        try await withCheckedThrowingContinuation { done in
            DispatchQueue.global().async { [store, publication] in
                done.resume(with: Result { try store.add(batch, as: publication) })
            }
        }
        control.addStored(batch.count)
    }
}
