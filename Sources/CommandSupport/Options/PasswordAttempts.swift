internal import OpenSSL
package import SecretMemory

/// The passwords to try on one file after another: the one that was given, or else none and the empty one, then
/// what the user answered for an earlier file, then what the user answers now.
package struct PasswordAttempts {
    /// The password of the options; where there is one no other is tried.
    package let given: SecretBytes?
    /// An answer that opened something.
    package private(set) var answer: SecretBytes?

    package init(given: SecretBytes?) {
        self.given = given
    }

    /// What `attempt` makes of the first password that is not wrong.
    ///
    /// - Parameter name: what the user is asked the password of.
    /// - Throws: what `attempt` throws for the last password there is.
    package mutating func open<Result>(
        _ name: String, _ attempt: (SecretBytes?) throws -> Result
    ) throws -> Result {
        func isWrong(_ error: any Error) -> Bool { (error as? PKCS12Error)?.code == .wrongPassword }
        do {
            return try attempt(given)
        } catch  where isWrong(error) && given == nil {
            if let answer, let result = try? attempt(answer) { return result }
            guard let typed = PasswordOptions.prompt("Password of \(name)") else { throw error }
            let result = try attempt(typed)
            answer = typed
            return result
        }
    }

    /// The next password to try where no exception tells, in the order of ``open(_:_:)``: the earlier answer
    /// first, then the user's.
    package func next(after tried: Int, for name: String) -> SecretBytes? {
        guard given == nil else { return nil }
        if tried == 0, let answer { return answer }
        return tried < 2 ? PasswordOptions.prompt("Password of \(name)") : nil
    }

    /// Keeps an answer that opened something.
    package mutating func keep(_ password: SecretBytes) {
        answer = password
    }
}
