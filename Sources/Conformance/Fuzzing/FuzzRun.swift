internal import Foundation
internal import OpenSSL
package import TestVectors

/// The result of a fuzzer.
package enum FuzzResult: Sendable {
    case report(FuzzReport)
    /// The consumer rejects every valid file, so nothing was judged.
    case unusable(UnusableConsumer)
}

/// Tests a consumer with mutations of valid files.
///
/// The random seed and the number of a file determine its bytes. The files are judged in the order of their numbers, in
/// rounds of fixed size, so that the findings do not depend on the number of parallel runs.
package struct FuzzRun: Sendable {
    private let target: any FuzzTarget
    private let seeds: [MutationSeed]
    private let claim: TestVectorClaim
    private let randomSeed: UInt64
    private let source: RandomSource
    private let width: Int

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - target: The consumer.
    ///   - seeds: The valid files.
    ///   - claim: The checks that the consumer claims to make.
    ///   - randomSeed: The number that determines all mutated files.
    ///   - width: The number of parallel runs.
    package init(
        _ target: any FuzzTarget, seeds: [MutationSeed], claim: TestVectorClaim, randomSeed: UInt64,
        width: Int
    ) {
        self.target = target
        self.seeds = seeds
        self.claim = claim
        self.randomSeed = randomSeed
        source = .seeded(Seed("fuzz \(randomSeed)"))
        self.width = width
    }

    /// The number of files in a round.
    private static let round = 32

    /// Tests the consumer until `isOver` returns true, or until a number of files.
    ///
    /// - Parameters:
    ///   - limit: The number of files, or nil.
    ///   - isOver: Called after each round.
    ///   - progress: Called after each round with the number of files and of findings.
    /// - Throws: The errors of the file system.
    package func result(
        files limit: Int?, isOver: @Sendable () -> Bool,
        progress: @Sendable (_ files: Int, _ findings: Int) -> Void
    ) async throws -> FuzzResult {
        let (usable, unusable) = try await usableSeeds()
        if let unusable { return .unusable(unusable) }
        let names = Set(usable.map(\.name))
        var report = FuzzReport(
            randomSeed: randomSeed, rejectedSeeds: seeds.map(\.name).filter { !names.contains($0) })
        var number = 0
        while number < limit ?? .max, !isOver() {
            let numbers = number..<min(number + Self.round, limit ?? .max)
            number = numbers.upperBound
            let files = numbers.map { ($0, MutatedFile(number: $0, of: usable, from: source)) }
                .filter { !isKnownToHang($0.1, report) }
            let trials = try await trials(of: files)
            report.files += trials.count
            for trial in trials where trial.outcome != nil {
                try await add(trial, to: &report, simplest: usable[0])
            }
            progress(report.files, report.findings.count)
        }
        return .report(report)
    }

    /// A mutated file with the consumer's answer.
    private struct Trial: Sendable {
        let file: MutatedFile
        let number: Int
        let bytes: [UInt8]
        let outcome: FuzzOutcome?
        let ours: String
        let seen: String
        let stderr: String
    }

    /// Runs the consumer on several files. Returns the trials in the order of their numbers.
    private func trials(of files: [(number: Int, file: MutatedFile)]) async throws -> [Trial] {
        try await withThrowingTaskGroup(of: Trial?.self) { group in
            var pending = files.makeIterator()
            func startNext() {
                guard let (number, file) = pending.next() else { return }
                group.addTask { try await trial(file, number: number) }
            }
            for _ in 0..<max(width, 1) { startNext() }
            var done: [Trial] = []
            while let trial = try await group.next() {
                if let trial { done.append(trial) }
                startNext()
            }
            return done.sorted { $0.number < $1.number }
        }
    }

    /// Runs the consumer on a mutated file. Returns nil if the mutations cannot be combined.
    private func trial(_ file: MutatedFile, number: Int) async throws -> Trial? {
        guard let bytes = file.bytes() else { return nil }
        let judge =
            target.isOwnReader
            ? FuzzJudge(ownReader: file, bytes: bytes) : FuzzJudge(file, bytes: bytes, claim: claim)
        let (answer, seen, stderr) = try await target.answer(to: bytes, password: file.seed.password)
        return Trial(
            file: file, number: number, bytes: bytes, outcome: judge.finding(in: answer), ours: judge.ours,
            seen: seen, stderr: stderr)
    }

    /// Whether the file contains mutations that made the consumer hang before. Each hang costs the whole time limit.
    private func isKnownToHang(_ file: MutatedFile, _ report: FuzzReport) -> Bool {
        report.findings.contains { $0.outcome == .hang && Set(file.kinds).isSuperset(of: $0.mutations) }
    }

    /// Adds a finding with the fewest mutations, unless the report already contains it.
    private func add(_ trial: Trial, to report: inout FuzzReport, simplest: MutationSeed) async throws {
        let kinds = Set(trial.file.kinds)
        if let known = report.findings.firstIndex(where: {
            $0.outcome == trial.outcome && kinds.isSuperset(of: $0.mutations)
        }) {
            report.findings[known].count += 1
            return
        }
        let smallest = try await minimized(trial, simplest: simplest)
        guard let outcome = smallest.outcome else { return }
        report.findings.append(
            FuzzReport.Finding(
                name: "fuzz-" + ([outcome.rawValue] + smallest.file.kinds).joined(separator: "-"),
                outcome: outcome, mutations: smallest.file.kinds,
                changes: smallest.file.steps.map(\.mutation.summary), seed: smallest.file.seed.name,
                number: trial.number, ours: smallest.ours, seen: smallest.seen, stderr: smallest.stderr,
                password: smallest.file.seed.password, file: Data(smallest.bytes)))
    }

    /// Removes mutations and starts from the simplest valid file instead, if the outcome remains the same.
    private func minimized(_ trial: Trial, simplest: MutationSeed) async throws -> Trial {
        var smallest = trial
        func attempt(_ file: MutatedFile) async throws {
            guard let other = try await self.trial(file, number: trial.number), other.outcome == trial.outcome
            else { return }
            smallest = other
        }
        var index = 0
        while index < smallest.file.steps.count, smallest.file.steps.count > 1 {
            var file = smallest.file
            file.steps.remove(at: index)
            let before = smallest.file.steps.count
            try await attempt(file)
            if smallest.file.steps.count == before { index += 1 }
        }
        if smallest.file.seed.name != simplest.name {
            var file = smallest.file
            file.seed = simplest
            try await attempt(file)
        }
        return smallest
    }

    /// The valid files that the consumer accepts, or the reason why it cannot be tested.
    private func usableSeeds() async throws -> (seeds: [MutationSeed], unusable: UnusableConsumer?) {
        var usable: [MutationSeed] = []
        var last = (seen: "", stderr: "")
        for seed in seeds {
            let (answer, seen, stderr) = try await target.answer(
                to: try seed.bytes(), password: seed.password)
            if case .accepted = answer { usable.append(seed) } else { last = (seen, stderr) }
        }
        guard usable.isEmpty else { return (usable, nil) }
        return (
            [],
            UnusableConsumer(reason: "rejects every valid file, with \(last.seen)", stderr: last.stderr)
        )
    }
}
