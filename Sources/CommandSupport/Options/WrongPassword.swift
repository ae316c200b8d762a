package import OpenSSL
package import SecretMemory

/// The failure of a file that could not be opened: a password is required, or the password is wrong, possibly because
/// of a typical mistake.
package enum WrongPassword {
    /// Returns the failure of a file that none of the passwords opened.
    ///
    /// Some variants of the password are tried, to detect typical mistakes. The wrong password and all variants share
    /// the file's limits.
    ///
    /// - Parameters:
    ///   - password: The password that was tried last; nil if none was given, so that the absent and the empty one were
    ///     tried.
    ///   - bytes: The PKCS #12 file.
    ///   - limits: The limits under which the file was read.
    ///   - allowNoMAC: Whether files without a MAC are accepted.
    package static func failure(
        of password: SecretBytes?, for bytes: [UInt8], limits: PKCS12Limits = .standard,
        allowNoMAC: Bool = false
    ) -> CommandFailure {
        guard let password else {
            return CommandFailure(
                .wrongPassword,
                "a password is required: the file opens neither without a password nor with the empty one",
                hint: "pass it with --password-file, --password-env or --password-stdin")
        }
        let mistakes = PasswordMistake.known(in: password)
        var limits = limits
        let spent = PKCS12.workOfWrongPassword(bytes, password: .text(password), limits: limits)
        limits.patience = (limits.patience - spent) / max(mistakes.count, 1)
        for mistake in mistakes {
            let contents = try? PKCS12.read(
                bytes, password: mistake.password.map { .text($0) }, limits: limits, allowNoMAC: allowNoMAC)
            if contents != nil {
                return CommandFailure(
                    .wrongPassword, "the password is wrong: the file opens \(mistake.words)",
                    hint: "correct the password")
            }
        }
        return CommandFailure(PKCS12Error(.wrongPassword))
            .advising("use the password that the file was encrypted with")
    }
}
