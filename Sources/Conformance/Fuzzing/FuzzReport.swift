package import Foundation

/// The findings of a fuzzer.
package struct FuzzReport: Sendable, Codable {
    /// A deviation of the consumer, with the smallest set of mutations that shows it.
    package struct Finding: Sendable, Codable {
        /// The name of the test vector: the outcome and the kinds of mutations.
        package let name: String
        /// The deviation.
        package let outcome: FuzzOutcome
        /// The kinds of mutations, without duplicates.
        package let mutations: [String]
        /// The mutations, as phrases that start with a verb.
        package let changes: [String]
        /// The name of the valid file.
        package let seed: String
        /// The number of the mutated file in which the deviation was found first.
        package let number: Int
        /// The behaviour of this package's reader.
        package let ours: String
        /// The behaviour of the consumer.
        package let seen: String
        /// The end of the consumer's standard error.
        package let stderr: String
        /// The password of the file, which is not secret.
        package let password: String
        /// The number of mutated files with this deviation.
        package internal(set) var count = 1
        /// The command that shows the deviation. Nil until the finding is written to a folder.
        package var command: String?
        /// The bytes of the file, in Base64 in JSON.
        package let file: Data
    }

    /// The number that determines all mutated files.
    package let randomSeed: UInt64
    /// The number of mutated files that the consumer was run on.
    package internal(set) var files = 0
    /// The valid files that the consumer rejects. They are not mutated.
    package let rejectedSeeds: [String]
    /// The findings, in the order in which they were found.
    package var findings: [Finding] = []

    private enum CodingKeys: String, CodingKey {
        case files, rejectedSeeds, findings
        case randomSeed = "seed"
    }

    init(randomSeed: UInt64, rejectedSeeds: [String]) {
        self.randomSeed = randomSeed
        self.rejectedSeeds = rejectedSeeds
    }

    /// The findings, the worst outcome first.
    package var worstFirst: [Finding] {
        FuzzOutcome.allCases.flatMap { outcome in findings.filter { $0.outcome == outcome } }
    }
}
