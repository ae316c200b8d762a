import OpenSSL
import SecretMemory
import Testing

@testable import CommandSupport

@Suite("PasswordAttempts", .timeLimit(.minutes(10)))
struct PasswordAttemptsTests {
    private let first = SecretBytes(utf8: "first")
    private let second = SecretBytes(utf8: "second")

    @Test("If the options specify a password, only that password is tried, whether correct or wrong")
    func given() {
        var attempts = PasswordAttempts(given: first, prompt: { _ in second })
        #expect(Array(attempts.candidates(for: "a.p12")) == [first])
        attempts.keep(second)
        #expect(Array(attempts.candidates(for: "a.p12")) == [first])
    }

    @Test(
        "Without a password option, the importer tries an absent password, then the last entered password, and then asks for one"
    )
    func answers() {
        var asked: [String] = []
        var attempts = PasswordAttempts(given: nil) { question in
            asked.append(question)
            return second
        }
        #expect(Array(attempts.candidates(for: "a.p12")) == [nil, second])
        attempts.keep(first)
        var candidates = attempts.candidates(for: "b.p12")
        #expect(candidates.next() == .some(nil))
        #expect(candidates.next() == .some(first))
        #expect(asked == ["Password of a.p12"])
        #expect(candidates.next() == .some(second))
        #expect(candidates.next() == nil)
        #expect(asked == ["Password of a.p12", "Password of b.p12"])
    }

    @Test("If the user enters no password, only the absent password is tried")
    func noAnswer() {
        let attempts = PasswordAttempts(given: nil, prompt: { _ in nil })
        #expect(Array(attempts.candidates(for: "a.p12")) == [nil])
    }

    @Test("A file opens with the first correct password, and an entered password also opens the next file")
    func opening() throws {
        var questions = 0
        var attempts = PasswordAttempts(given: nil) { _ in
            questions += 1
            return second
        }
        for number in 1...2 {
            var tried: [SecretBytes?] = []
            let opened = try attempts.open("a.p12") { (password: SecretBytes?) throws -> Int in
                tried.append(password)
                guard password == second else { throw PKCS12Error(.wrongPassword) }
                return number
            }
            #expect(opened == number && tried == [nil, second])
        }
        #expect(questions == 1)
    }

    /// Tries to open a file that always fails with this error, and returns the passwords that were tried.
    private func passwords(given: SecretBytes?, failingWith code: PKCS12Error.Code) -> [SecretBytes?] {
        var attempts = PasswordAttempts(given: given) { _ in second }
        var tried: [SecretBytes?] = []
        do {
            try attempts.open("a.p12") { (password: SecretBytes?) throws -> Void in
                tried.append(password)
                throw PKCS12Error(code)
            }
            Issue.record("the file was opened")
        } catch {
            #expect((error as? PKCS12Error)?.code == code)
        }
        return tried
    }

    @Test("Another password is tried only after a wrong password, and the last error is reported")
    func failing() {
        #expect(passwords(given: first, failingWith: .wrongPassword) == [first])
        #expect(passwords(given: nil, failingWith: .wrongPassword) == [nil, second])
        #expect(passwords(given: nil, failingWith: .keyMismatch) == [nil])
    }
}
