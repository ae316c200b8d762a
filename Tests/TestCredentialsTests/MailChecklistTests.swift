@testable import TestCredentials
@testable import TestVectors
import CertificateReading
import Foundation
import KeySharing
import OpenSSL
import SecretMemory
import TestSupport
import Testing

@Suite("The checklist of test messages", .timeLimit(.minutes(10)))
struct MailChecklistTests {
    /// Identities of one person: the newest encryption and signature identity, and older encryption identities.
    private func identities(_ count: Int) throws -> [IdentitySummary] {
        var generator = Seed("checklist").generator()
        let person = TestPerson(using: &generator)
        let date = try Date("2026-01-01T00:00:00Z", strategy: .iso8601)
        let source = RandomSource.seeded(Seed("checklist"))
        let context = TestVectorContext(
            authority: try TestAuthority(
                algorithm: .p256, validity: TestVectorSuite.span(at: date), from: source),
            person: person, date: date, algorithm: .p256, password: SecretBytes(utf8: "x"), source: source)
        let encryption = try (0..<count).map {
            try context.identity(.encryption, part: "\($0)", validity: context.validity(shiftedBy: -$0))
        }
        return (encryption + [try context.identity(.signature)]).map { IdentitySummary($0.certificate) }
    }

    @Test("Each key has a letter, and each message lists the letters of the keys that open it")
    func letters() throws {
        let mails = TestMail.plan(for: try identities(28))
        let page = MailChecklist(mails).html
        let keys = page.matches(of: #/<th scope="row">([A-Z]+)<\/th>/#).map { String($0.1) }
        #expect(keys.count == 29 && keys.first == "A")
        #expect(keys[25...] == ["Z", "AA", "AB", "AC"])
        #expect(page.contains("<td>any of A B C D"))
        #expect(page.contains("<td>no key</td><td>none</td><td>signed by AC</td>"))
        #expect(page.contains("<td>opens, shown as encrypted; signed by AC</td>"))
        let row = try #require(page.split(separator: "\n").first { $0.contains("<td>\(mails[1].file)</td>") })
        #expect(row.contains("<td>B</td><td>aes256-gcm, oaep</td><td>opens, shown as encrypted</td>"))
    }

    @Test("The printed font shrinks with the number of lines, to a limit")
    func fontSize() throws {
        func size(_ count: Int) throws -> Double {
            let page = MailChecklist(TestMail.plan(for: try identities(count))).html
            return try #require(try #/font: ([0-9.]+)pt/#.firstMatch(in: page).flatMap { Double($0.1) })
        }
        #expect(try size(2) == 8)
        let (medium, small, smallest) = (try size(20), try size(34), try size(60))
        #expect(medium < 8 && small < medium && smallest <= small && smallest >= 4.5)
    }

    @Test("Subsets leave out AES-GCM and OAEP, and the other combinations remain in rotation")
    func subsets() throws {
        let identities = try identities(6)
        func combinations(_ subsets: MailSubset...) -> Set<String> {
            Set(
                TestMail.plan(for: identities, subsets: subsets).compactMap { mail in
                    mail.cipher.map { "\($0.rawValue) \(mail.transport.rawValue)" }
                })
        }
        #expect(combinations().count == TestMail.encryptions.count)
        #expect(combinations(.noGCM) == ["aes256-cbc pkcs1", "aes128-cbc oaep"])
        #expect(combinations(.noOAEP) == ["aes256-cbc pkcs1", "aes128-gcm pkcs1"])
        #expect(combinations(.noGCM, .noOAEP) == ["aes256-cbc pkcs1"])
    }
}
