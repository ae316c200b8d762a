import TestCredentials
import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider
import OpenSSL

/// The source of randomness: the system, or a seed that reproduces the same bytes.
struct SeedOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Derive all keys and serial numbers from this number, so that runs are reproducible; insecure.",
            valueName: "number"))
    var seed: UInt64?

    /// The source of random numbers.
    var source: RandomSource { seed.map { .seeded(Seed(String($0))) } ?? .system }

    /// Returns the date of the run: the clock's, or the start of the year for a seed without `--at`.
    func date(_ clock: ClockOptions) -> Date {
        seed != nil && clock.at == nil ? clock.now.startOfSeededRuns : clock.now
    }

    /// Warns that seeded keys protect nothing, unless `--quiet` was given.
    func warn(_ console: Console) {
        guard seed != nil else { return }
        console.note(
            "warning: --seed generates INSECURE keys: anyone who knows the number can generate every private key"
        )
    }
}
