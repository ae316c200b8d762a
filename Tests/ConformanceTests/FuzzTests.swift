import Conformance
import Foundation
import OpenSSL
import Synchronization
import TestVectors
import Testing

@Suite("The fuzzer", .timeLimit(.minutes(10)))
struct FuzzTests {
    /// A consumer whose answers a closure returns.
    private struct Consumer: FuzzTarget {
        let isOwnReader = false
        let respond: @Sendable ([UInt8], String) -> FuzzAnswer

        func answer(
            to bytes: [UInt8], password: String
        ) -> (FuzzAnswer, seen: String, stderr: String) {
            (respond(bytes, password), "an answer", "")
        }
    }

    private static let material = Result {
        try MutationMaterial(
            TestVectorSuite.Settings(
                at: Date(timeIntervalSince1970: 1_767_225_600), password: "secret", from: .seeded(Seed("1"))))
    }

    private func report(
        _ target: any FuzzTarget, seed: UInt64 = 1, files: Int, width: Int = 2
    ) async throws -> FuzzReport? {
        let run = FuzzRun(
            target, seeds: try Self.material.get().seeds, claim: .identity, randomSeed: seed, width: width)
        guard
            case .report(let report) = try await run.result(
                files: files, isOver: { false }, progress: { _, _ in })
        else { return nil }
        return report
    }

    @Test("This package's reader has no finding in 1,500 mutated files")
    func ownReader() async throws {
        let report = try #require(try await report(OwnReader(), files: 1_500))
        #expect(report.files > 1_200)
        #expect(
            report.findings.isEmpty,
            "\(report.findings.map { "\($0.name) \($0.seed) \($0.number): \($0.seen)" })")
    }

    @Test(
        "The random seed determines the mutated files, and the number of parallel runs does not change the findings"
    )
    func isDeterministic() async throws {
        func bytes(_ seed: UInt64, width: Int) async throws -> [Data] {
            let target = Consumer { _, _ in .accepted() }
            return try #require(try await report(target, seed: seed, files: 96, width: width)).findings.map(
                \.file)
        }
        let first = try await bytes(1, width: 1)
        #expect(!first.isEmpty)
        #expect(try await bytes(1, width: 4) == first)
        #expect(try await bytes(2, width: 1) != first)
    }

    @Test("For a consumer that accepts everything, each finding has one mutation and a unique name")
    func acceptsEverything() async throws {
        let report = try #require(try await report(Consumer { _, _ in .accepted() }, files: 400))
        let outcomes = Set(report.findings.map(\.outcome))
        #expect(outcomes == [.acceptsBad])
        let kinds = Set(report.findings.flatMap(\.mutations))
        #expect(
            kinds.isSuperset(of: ["mac-removed", "trailing-bytes", "mac-wrong", "truncation"]), "\(kinds)")
        #expect(Set(report.findings.map(\.name)).count == report.findings.count)
        #expect(report.findings.allSatisfy { $0.mutations.count == 1 })
    }

    @Test("A consumer that rejects every mutated file rejects files that most readers open")
    func rejectsEverything() async throws {
        let seeds = try Self.material.get().seeds
        let sound = Set(try seeds.map { try $0.bytes() })
        let target = Consumer { bytes, _ in sound.contains(bytes) ? .accepted() : .rejected }
        let report = try #require(try await report(target, files: 400))
        let outcomes = Set(report.findings.map(\.outcome))
        #expect(outcomes == [.refusesGood])
        let kinds = Set(report.findings.flatMap(\.mutations))
        #expect(kinds.isSuperset(of: ["bags-shuffled", "name", "no-local-key-id"]), "\(kinds)")
        #expect(kinds.isDisjoint(with: ["mac-removed", "trailing-bytes", "pbmac1"]), "\(kinds)")
    }

    @Test("Importing different identities than this package's reader, or fewer, is a finding")
    func otherIdentities() async throws {
        let target = Consumer { _, _ in .accepted(identities: 1) }
        let report = try #require(try await report(target, files: 200))
        #expect(report.findings.contains { $0.outcome == .otherIdentities && $0.seed == "two" })
        let digests = Consumer { _, _ in .accepted(certificates: ["00"]) }
        #expect(
            try await self.report(digests, files: 64)?.findings.contains { $0.outcome == .otherIdentities }
                == true)
    }

    @Test("After a hang, files with the same mutations are not run again")
    func hangs() async throws {
        let hangs = Mutex(0)
        let target = Consumer { bytes, _ in
            guard bytes.suffix(2) == [0, 0] else { return .accepted() }
            hangs.withLock { $0 += 1 }
            return .failed(.hang)
        }
        let report = try #require(try await report(target, files: 1_000, width: 1))
        #expect(report.findings.contains { $0.outcome == .hang && $0.mutations == ["trailing-zeroes"] })
        // About 1,000 / 60 * 1.7 files have the mutation.
        #expect(hangs.withLock { $0 } < 20)
    }

    @Test("A consumer that rejects every valid file cannot be tested")
    func unusable() async throws {
        let run = FuzzRun(
            Consumer { _, _ in .rejected }, seeds: try Self.material.get().seeds, claim: .parse,
            randomSeed: 1, width: 1)
        guard
            case .unusable(let consumer) = try await run.result(
                files: 1, isOver: { false }, progress: { _, _ in })
        else {
            Issue.record("it was tested")
            return
        }
        #expect(consumer.reason == "rejects every valid file, with an answer")
    }

    @Test("Every mutation has its own kind, and most apply to the simplest file")
    func mutations() throws {
        let kinds = FileMutation.all.map(\.kind)
        #expect(Set(kinds).count == kinds.count && kinds.count >= 50)
        #expect(FileMutation.all.count(where: \.isLegal) >= 25)
        #expect(FileMutation.all.filter(\.isFatal).allSatisfy { !$0.isLegal })
    }
}
