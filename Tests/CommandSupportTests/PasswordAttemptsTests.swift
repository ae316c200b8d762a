import SecretMemory
import Testing

@testable import CommandSupport

@Suite("PasswordAttempts")
struct PasswordAttemptsTests {
    private let first = SecretBytes(utf8: "first")
    private let second = SecretBytes(utf8: "second")

    @Test("A password of the options is the only one to try, right or wrong")
    func given() {
        var attempts = PasswordAttempts(given: first, prompt: { _ in second })
        #expect(Array(attempts.candidates(for: "a.p12")) == [first])
        attempts.keep(second)
        #expect(Array(attempts.candidates(for: "a.p12")) == [first])
    }

    @Test("Without a password of the options none is tried first, then the last answer, then the user's")
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

    @Test("Where the user gives no password, none but the absent one is tried")
    func noAnswer() {
        let attempts = PasswordAttempts(given: nil, prompt: { _ in nil })
        #expect(Array(attempts.candidates(for: "a.p12")) == [nil])
    }
}
