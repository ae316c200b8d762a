package import OpenSSL
package import SecretMemory

/// What to tell of a file that did not open: that it needs a password, or that the password is wrong, and what may be
/// wrong with it.
package enum WrongPassword {
    /// The failure of a file that no password opened.
    ///
    /// A few variants of the password are tried, which people mix up. All of them together do no more work than the
    /// file's limits permit for one password.
    ///
    /// - Parameters:
    ///   - password: the password that was tried last; nil where none was given, and none and the empty one were tried.
    ///   - bytes: the PKCS #12 file.
    ///   - limits: the limits under which the file was read.
    ///   - allowNoMAC: whether the file was read without a MAC.
    package static func failure(
        of password: SecretBytes?, for bytes: [UInt8], limits: PKCS12Limits = .standard,
        allowNoMAC: Bool = false
    ) -> CommandFailure {
        guard let password else {
            return CommandFailure(
                .wrongPassword, "a password is needed: it opens neither without one nor with the empty one",
                hint: "give it with --password-file, --password-env or --password-stdin")
        }
        let slips = PasswordSlip.known(in: password)
        var limits = limits
        limits.patience = limits.patience / max(slips.count, 1)
        for slip in slips {
            let contents = try? PKCS12.read(
                bytes, password: slip.password.map { .text($0) }, limits: limits, allowNoMAC: allowNoMAC)
            if contents != nil {
                return CommandFailure(
                    .wrongPassword, "the password is wrong: it opens \(slip.words)",
                    hint: "give the password so that it fits")
            }
        }
        return CommandFailure(PKCS12Error(.wrongPassword))
    }
}
