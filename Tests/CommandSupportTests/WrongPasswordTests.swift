import OpenSSL
import SecretMemory
import TestSupport
import Testing

@testable import CommandSupport

@Suite("Advice about a wrong password", .timeLimit(.minutes(10)))
struct WrongPasswordTests {
    /// Returns a PKCS #12 file that is encrypted under this password.
    private func file(under password: [UInt8]) throws -> [UInt8] {
        try PKCS12Samples.written(password: SecretBytes(password))
    }

    private func message(_ given: [UInt8]?, for password: [UInt8]) throws -> String {
        let failure = WrongPassword.failure(of: given.map { SecretBytes($0) }, for: try file(under: password))
        #expect(failure.status == .wrongPassword && failure.code == "wrong-password" && failure.hint != nil)
        return failure.message
    }

    @Test(
        "The message for a wrong password names a likely typing mistake",
        arguments: [
            ("secret ", "secret", "without the whitespace at the end"),
            ("secret \t", "secret", "without the whitespace at the end"),
            ("secret\r", "secret", "without the line end at the end"),
            ("secret", "secret\n", "with a line end after the password"),
            ("\u{FEFF}secret", "secret", "without the byte order mark at the start"),
        ])
    func mistakes(given: String, password: String, words: String) throws {
        #expect(
            try message(Array(given.utf8), for: Array(password.utf8))
                == "the password is wrong: the file opens \(words)")
    }

    @Test("A password in Latin-1 is recognized if the file was encrypted with its UTF-8 form")
    func latin1() throws {
        let latin1: [UInt8] = Array("caf".utf8) + [0xE9]
        #expect(
            try message(latin1, for: Array("caf\u{E9}".utf8))
                == "the password is wrong: the file opens with the password in UTF-8, not in Latin-1")
    }

    @Test("A missing password and a wrong password have different messages")
    func none() throws {
        let mistakes = PasswordMistake.known(in: SecretBytes([]))
        #expect(mistakes.map(\.words) == ["without a password"] && mistakes.allSatisfy { $0.password == nil })
        #expect(try message(nil, for: Array("secret".utf8)).hasPrefix("a password is required"))
        #expect(
            try message(Array("other".utf8), for: Array("secret".utf8)).hasPrefix("the password is wrong"))
    }

    @Test("Password variants that would exceed the work limit of one password are skipped")
    func budget() throws {
        var limits = PKCS12Limits.standard
        limits.patience = .nanoseconds(1)
        let failure = WrongPassword.failure(
            of: SecretBytes(utf8: "secret "), for: try file(under: Array("secret".utf8)), limits: limits)
        #expect(!failure.message.contains("the file opens"))
    }

    @Test("The variants of a wrong password share the work limit that the password left")
    func remainingBudget() throws {
        let bytes = try file(under: Array("secret".utf8))
        let work = PKCS12.workOfWrongPassword(bytes, password: .text(SecretBytes(utf8: "secret ")))
        #expect(work > .zero)
        var limits = PKCS12Limits.standard
        // The correct password tries only one of two forms for each layer, so it takes half of the work.
        let enough = work + work / 2
        for (patience, isFound) in [(enough, true), (enough - .nanoseconds(1), false)] {
            limits.patience = patience
            let failure = WrongPassword.failure(
                of: SecretBytes(utf8: "secret "), for: bytes, limits: limits)
            #expect(failure.message.contains("the file opens") == isFound)
        }
    }
}
