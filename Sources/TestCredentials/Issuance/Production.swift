internal import KeyShareProvider
internal import Dispatch
internal import KeySharing
internal import OpenSSL

/// The identities of a request that are still to be made, in order.
struct Work {
    private let request: ProvisioningRequest
    private let slots: [ProvisioningSlot]
    private let drawing: RandomSource
    private let keys: RandomSource
    private let present: Set<String>
    private var persons: StrideTo<Int>.Iterator
    private var current: (number: Int, person: TestPerson)?
    private var slot = 0
    /// How many were passed over because they are there already.
    private(set) var skipped = 0

    /// - Parameter present: the serial numbers that are there already.
    init(
        request: ProvisioningRequest, slots: [ProvisioningSlot], drawing: RandomSource, keys: RandomSource,
        present: Set<String>
    ) {
        self.request = request
        self.slots = slots
        self.drawing = drawing
        self.keys = keys
        self.present = present
        persons = request.personNumbers.makeIterator()
    }

    /// The next part; nil at the end.
    mutating func next() -> Part? {
        while true {
            if current == nil || slot == slots.count {
                guard let number = persons.next() else { return nil }
                current = (number, request.person(number, from: drawing))
                slot = 0
            }
            guard let current, slot < slots.count else { continue }
            let name = "identity \(current.number).\(slot)"
            let source = drawing.child(name)
            let part = Part(
                plan: IdentityPlan(
                    person: current.person, type: slots[slot].type, profile: slots[slot].profile,
                    algorithm: slots[slot].algorithm, validity: slots[slot].validity,
                    policyArc: slots[slot].policyArc, locations: request.locations),
                drawing: source, keys: keys.child(name))
            slot += 1
            if !present.isEmpty {
                var random = source.generator()
                if present.contains(SerialNumber.random(using: &random).upperHex) {
                    skipped += 1
                    continue
                }
            }
            return part
        }
    }

    /// One identity to be made.
    struct Part: Sendable {
        let plan: IdentityPlan
        let drawing: RandomSource
        let keys: RandomSource

        func make(_ authority: TestAuthority) throws -> (certificate: Certificate, privateKey: PrivateKey) {
            var random = drawing.generator()
            let template = try plan.template(below: authority, using: &random)
            let key = try PrivateKey.generate(plan.algorithm, seed: keys.child("key").seed)
            let certificate = try authority[plan.issuer].issue(
                template, to: key, seed: keys.child("signature").seed)
            return (certificate, key)
        }
    }
}

/// Makes identities on all cores and stores them, batch after batch, while the next ones are being made.
struct Production {
    let store: ProviderStore
    let authority: TestAuthority
    /// How many are made at a time.
    let width: Int
    /// How many go into one transaction.
    let batchSize: Int

    private enum Event: Sendable {
        case made(Int, ProviderStore.PreparedIdentity)
        case stored
    }

    /// Makes everything, in order.
    ///
    /// - Throws: what making and storing throw; what was stored by then stays.
    func run(_ work: Work, keeping kept: Int, progress: (Int) -> Void) async throws -> Provisioner.Outcome {
        try await withThrowingTaskGroup(of: Event.self) { group in
            var work = work
            var outcome = Provisioner.Outcome()
            // Those that were made before one in front of them.
            var early: [Int: ProviderStore.PreparedIdentity] = [:]
            var ready: [ProviderStore.PreparedIdentity] = []
            var (started, finished, ordered, isStoring) = (0, 0, 0, false)

            func start() {
                // Where storing is slower than making, making waits.
                while started - finished < width, ready.count < 4 * batchSize, let part = work.next() {
                    let number = started
                    started += 1
                    group.addTask { [store, authority] in
                        let (certificate, privateKey) = try part.make(authority)
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
                group.addTask { [store] in
                    try await store.addInBackground(batch)
                    return .stored
                }
                outcome.count += batch.count
                outcome.made += batch.prefix(max(kept - outcome.made.count, 0)).map(\.summary)
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
                    progress(finished + work.skipped)
                case .stored: isStoring = false
                }
                start()
                storeBatch()
            }
            outcome.skipped = work.skipped
            return outcome
        }
    }
}

extension ProviderStore {
    /// Adds identities on a thread that may wait for the disk; those that compute go on meanwhile.
    fileprivate func addInBackground(_ identities: [PreparedIdentity]) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            DispatchQueue.global().async {
                done.resume(with: Result { for result in try add(identities) { _ = try result.get() } })
            }
        }
    }
}
