package import ArgumentParser
package import OpenSSL
internal import SecretMemory

/// How much is taken of PKCS #12 files from anywhere.
package struct ReadingOptions: ParsableArguments {
    @Flag(help: "Take files without a MAC too, whose integrity nothing vouches for.")
    package var allowNoMac = false

    @Option(help: ArgumentHelp("The most bags a file may hold (default: 64).", valueName: "n"))
    package var maxBags: Int?

    package init() {}

    package func validate() throws {
        try Self.validate(maxBags: maxBags)
    }

    /// Checks a number of bags.
    ///
    /// - Throws: `ValidationError` for one that no file can be held to.
    package static func validate(maxBags: Int?) throws {
        if let maxBags, !(1...100_000).contains(maxBags) {
            throw ValidationError("--max-bags takes a number from 1 to 100000")
        }
    }

    /// The limits these options set.
    package var limits: PKCS12Limits {
        var limits = PKCS12Limits.standard
        if let maxBags { limits.bags = maxBags }
        return limits
    }

    /// Opens one file under the passwords there are.
    ///
    /// - Throws: `PKCS12Error`.
    package func open(
        _ bytes: [UInt8], with passwords: inout PasswordAttempts, named name: String
    ) throws -> PKCS12Contents {
        try passwords.open(name) { password in
            try PKCS12.read(
                bytes, password: password.map { .text($0) }, limits: limits, allowNoMAC: allowNoMac)
        }
    }
}
