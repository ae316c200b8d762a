package import ArgumentParser
package import OpenSSL

/// The options that set the limits on PKCS #12 files.
package struct FileLimitOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The maximum number of bags in a file (default: 64).", valueName: "n"))
    package var maxBags: Int?

    @Option(
        help: ArgumentHelp(
            "The limit on processor time for deriving the keys of a file from its password; ten times as much for a zip (default: 2).",
            valueName: "seconds"))
    package var patience: Double?

    package init() {}

    package func validate() throws {
        if let maxBags, !(1...100_000).contains(maxBags) {
            throw ValidationError("--max-bags must be a number from 1 to 100000")
        }
        if let patience, !(0.1...86_400).contains(patience) {
            throw ValidationError("--patience must be a number of seconds from 0.1 to 86400")
        }
    }

    /// The limits that these options set. If `--patience` is above its default, the iterations permitted for one key
    /// derivation grow by the same factor.
    package var limits: PKCS12Limits {
        var limits = PKCS12Limits.standard
        if let maxBags { limits.bags = maxBags }
        if let patience {
            let usual = limits.patience / .seconds(1)
            limits.patience = .milliseconds(Int64(patience * 1_000))
            limits.iterations = Int(Double(limits.iterations) * max(1, patience / usual))
        }
        return limits
    }
}
