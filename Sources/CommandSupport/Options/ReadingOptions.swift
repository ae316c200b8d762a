package import ArgumentParser
package import OpenSSL
internal import SecretMemory

/// The requirements for PKCS #12 files that a command reads.
package struct ReadingOptions: ParsableArguments {
    @Flag(help: "Accept files without a MAC, although their integrity cannot be verified.")
    package var allowNoMac = false

    @OptionGroup package var fileLimits: FileLimitOptions

    package init() {}

    /// The limits that these options set.
    package var limits: PKCS12Limits { fileLimits.limits }

    /// Opens a file with the first correct password.
    ///
    /// - Parameters:
    ///   - bytes: The contents of the file.
    ///   - passwords: The passwords to try; the correct one is kept.
    ///   - name: The name of the file, for the question on the terminal.
    /// - Throws: `PKCS12Error` for a file that cannot be read, `CommandFailure` (3) if no password opens it.
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
