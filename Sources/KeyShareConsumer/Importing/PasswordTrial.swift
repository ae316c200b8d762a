internal import SecretMemory

/// The result of trying one password on a file.
struct PasswordTrial {
    /// Whether the password opened the file or an entry of it.
    let opensSomething: Bool
    /// Whether the file or an entry of it still needs another password.
    let needsAnother: Bool
}

extension Sequence<SecretBytes?> {
    /// Tries the passwords in order until no part of the file needs another one.
    ///
    /// - Parameter attempt: Tries a password; nil means no password.
    /// - Returns: The last password that opened something, and the last one that was tried.
    func tryEach(
        _ attempt: (SecretBytes?) async throws -> PasswordTrial
    ) async rethrows -> (opened: SecretBytes?, tried: SecretBytes?) {
        var opened: SecretBytes?
        var tried: SecretBytes?
        for password in self {
            tried = password
            let trial = try await attempt(password)
            if trial.opensSomething { opened = password }
            guard trial.needsAnother else { break }
        }
        return (opened, tried)
    }
}
