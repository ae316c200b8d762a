internal import OpenSSL
package import SecretMemory

/// The passwords to try on one file after another: the password of the options alone, or else none, then what
/// the user answered for an earlier file, then what the user answers now.
package struct PasswordAttempts {
    /// The password of the options; no other is tried where there is one.
    private let given: SecretBytes?
    /// The last answer of the user that opened something.
    private var answer: SecretBytes?
    /// The password that was tried last on a file; nil where none was given.
    private(set) var lastTried: SecretBytes?
    private let prompt: (String) -> SecretBytes?

    /// Makes the passwords of a command.
    ///
    /// - Parameters:
    ///   - given: the password of the options; nil where they name none.
    ///   - prompt: asks the user; nil where there is no terminal, or the user gives no password.
    package init(given: SecretBytes?, prompt: @escaping (String) -> SecretBytes? = PasswordOptions.prompt) {
        self.given = given
        self.prompt = prompt
    }

    /// The passwords to try on the file `name`, at least one; nil in their place tries the absent password
    /// and the empty one (docs/rules.md R7.11). The user is asked only when the sequence gets that far.
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

    /// Keeps an answer that opened something, for the files that follow.
    package mutating func keep(_ password: SecretBytes) {
        answer = password
    }

    /// The result of `attempt` under the first password that is not wrong.
    ///
    /// - Parameters:
    ///   - name: the file that the user is asked the password of.
    ///   - attempt: opens the file with a password; nil stands for no password.
    /// - Throws: what `attempt` throws for the last password there is.
    package mutating func open<Result>(
        _ name: String, _ attempt: (SecretBytes?) throws -> Result
    ) throws -> Result {
        func isWrong(_ error: any Error) -> Bool { (error as? PKCS12Error)?.code == .wrongPassword }
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
