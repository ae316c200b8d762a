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
}
