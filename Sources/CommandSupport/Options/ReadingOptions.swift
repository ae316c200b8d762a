package import ArgumentParser
package import OpenSSL
internal import SecretMemory

/// The limits on PKCS #12 files that are read.
package struct ReadingOptions: ParsableArguments {
    @Flag(help: "Take files without a MAC too, although their integrity cannot be checked.")
    package var allowNoMac = false

    @Option(help: ArgumentHelp("The maximum number of bags in a file (default: 64).", valueName: "n"))
    package var maxBags: Int?

    package init() {}

    package func validate() throws {
        try Self.validate(maxBags: maxBags)
    }

    /// Checks the number of `--max-bags`.
    ///
    /// - Throws: `ValidationError` for a number out of range.
    package static func validate(maxBags: Int?) throws {
        if let maxBags, !(1...100_000).contains(maxBags) {
            throw ValidationError("--max-bags takes a number from 1 to 100000")
        }
    }

    /// The limits that these options set.
    package var limits: PKCS12Limits {
        var limits = PKCS12Limits.standard
        if let maxBags { limits.bags = maxBags }
        return limits
    }

    /// Reads a file with the first of the passwords that is right.
    ///
    /// - Parameters:
    ///   - bytes: the contents of the file.
    ///   - passwords: the passwords to try; remembers the one that was right.
    ///   - name: the name of the file, for the question on the terminal.
    /// - Throws: `PKCS12Error` for a file that cannot be read, or that no password opens.
    package func open(
        _ bytes: [UInt8], with passwords: inout PasswordAttempts, named name: String
    ) throws -> PKCS12Contents {
        try passwords.open(name) { password in
            try PKCS12.read(
                bytes, password: password.map { .text($0) }, limits: limits, allowNoMAC: allowNoMac)
        }
    }
}
