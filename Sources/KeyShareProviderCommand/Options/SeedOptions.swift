import TestCredentials
import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider
import OpenSSL

/// The source of randomness: the system, or a seed that gives the same bytes again.
struct SeedOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Make the same keys, serial numbers and bytes again for the same number; insecure.",
            valueName: "number"))
    var seed: UInt64?

    /// The source of random numbers.
    var source: RandomSource { seed.map { .seeded(Seed(String($0))) } ?? .system }

    /// The date of the run: that of the clock, or the start of the year for a seed without `--at`.
    func date(_ clock: ClockOptions) -> Date {
        seed != nil && clock.at == nil ? clock.now.startOfSeededRuns : clock.now
    }

    /// Warns, but for `--quiet`, that seeded keys protect nothing.
    func warn(_ console: Console) {
        guard seed != nil else { return }
        console.note(
            "warning: --seed makes INSECURE keys: whoever knows the number has every private key")
    }
}
