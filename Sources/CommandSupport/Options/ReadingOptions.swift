package import ArgumentParser
package import OpenSSL
internal import SecretMemory

/// What is taken of PKCS #12 files that are read.
package struct ReadingOptions: ParsableArguments {
    @Flag(help: "Take files without a MAC too, although their integrity cannot be checked.")
    package var allowNoMac = false

    @OptionGroup package var fileLimits: FileLimitOptions

    package init() {}

    /// The limits that these options set.
    package var limits: PKCS12Limits { fileLimits.limits }

    /// Reads a file with the first of the passwords that is right.
    ///
    /// - Parameters:
    ///   - bytes: the contents of the file.
    ///   - passwords: the passwords to try; remembers the one that was right.
    ///   - name: the name of the file, for the question on the terminal.
    /// - Throws: `PKCS12Error` for a file that cannot be read, `CommandFailure` (3) for one that no password opens.
    package func open(
        _ bytes: [UInt8], with passwords: inout PasswordAttempts, named name: String
    ) throws -> PKCS12Contents {
        do {
            return try passwords.open(name) { password in
                try PKCS12.read(
                    bytes, password: password.map { .text($0) }, limits: limits, allowNoMAC: allowNoMac)
            }
        } catch let error as PKCS12Error where error.code == .wrongPassword {
            throw WrongPassword.failure(
                of: passwords.lastTried, for: bytes, limits: limits, allowNoMAC: allowNoMac)
        }
    }
}
