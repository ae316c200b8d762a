internal import OpenSSL
package import SecretMemory

/// The passwords to try on a sequence of files. If the options name a password, only that one is tried. Otherwise each
/// file is tried without a password, then with the user's earlier answer, then with a new answer.
package struct PasswordAttempts {
    /// The password that the options name. If it is set, no other password is tried.
    private let given: SecretBytes?
    /// The user's last answer that opened a file.
    private var answer: SecretBytes?
    /// The password that was last tried on a file; nil if none was given.
    private(set) var lastTried: SecretBytes?
    private let prompt: (String) -> SecretBytes?

    /// Prepares the passwords that a command may try.
    ///
    /// - Parameters:
    ///   - given: The password that the options name; nil if they name none.
    ///   - prompt: Asks the user; returns nil if there is no terminal, or if the user enters no password.
    package init(given: SecretBytes?, prompt: @escaping (String) -> SecretBytes? = PasswordOptions.prompt) {
        self.given = given
        self.prompt = prompt
    }

    /// Returns the passwords to try on the file `name`, at least one. Nil in the sequence means the absent password and
    /// the empty one (docs/rules.md R7.11). The user is asked only if all passwords before that fail.
    package func candidates(for name: String) -> UnfoldSequence<SecretBytes?, Int> {
        sequence(state: 0) { [given, answer, prompt] step -> SecretBytes?? in
            step += 1
            if step == 1 { return .some(given) }
            guard given == nil else { return nil }
            if step == 2 {
                if let answer { return .some(answer) }
                step += 1
            }
            guard step == 3, let typed = prompt("Password of \(name)") else { return nil }
            return .some(typed)
        }
    }

    /// Keeps an answer that opened a file, to be tried on the next files.
    package mutating func keep(_ password: SecretBytes) {
        answer = password
    }

    /// Returns the result of `attempt` with the first correct password.
    ///
    /// - Parameters:
    ///   - name: The name of the file in the question to the user.
    ///   - attempt: Opens the file with a password; nil means no password.
    /// - Throws: The error of `attempt` for the last password.
    package mutating func open<Result>(
        _ name: String, _ attempt: (SecretBytes?) throws -> Result
    ) throws -> Result {
        func isWrong(_ error: any Error) -> Bool {
            if (error as? PKCS12Error)?.code == .wrongPassword { return true }
            guard let error = error as? CMSError else { return false }
            // A message for a password was first opened without one.
            return error.code == .wrongPassword
                || error.code == .missingKey && error.recipients.contains(where: \.isOpenedBySecret)
        }
        var candidates = candidates(for: name)
        var password = candidates.next() ?? given
        while true {
            lastTried = password
            do {
                let result = try attempt(password)
                if let password { keep(password) }
                return result
            } catch  where isWrong(error) {
                guard let next = candidates.next() else { throw error }
                password = next
            }
        }
    }
}
