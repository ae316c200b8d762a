import TestCredentials
import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider
import OpenSSL

/// Whether everything is random or comes out the same again.
struct SeedOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Make the same keys, serial numbers and bytes again for the same number; insecure.",
            valueName: "number"))
    var seed: UInt64?

    /// Where random numbers come from.
    var source: RandomSource { seed.map { .seeded(Seed(String($0))) } ?? .system }

    /// The moment to count from: the clock's, but the same all year from a seed without a date.
    func date(_ clock: ClockOptions) -> Date {
        seed != nil && clock.at == nil ? clock.now.startOfSeededRuns : clock.now
    }

    /// Says, whatever the verbosity, that seeded keys protect nothing.
    func warn() {
        guard seed != nil else { return }
        Console.standardError(
            "warning: --seed makes INSECURE keys: whoever knows the number has every private key")
    }
}
