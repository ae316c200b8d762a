import Foundation
import KeySharing
import TestSupport
import Testing

@testable import KeyShareProvider

@Suite("The names of exported files", .timeLimit(.minutes(10)))
struct FileNamingTests {
    private static func name(_ commonName: String) -> String {
        let known = WireSamples.detailedFacts[0]
        let summary = IdentitySummary(
            label: known.label, serialNumber: known.serialNumber, notBefore: known.notBefore,
            facts: known.facts,
            details: IdentityDetails(
                subject: "", commonName: commonName, email: nil, edipi: nil, notAfter: known.notBefore))
        return FileNaming.person.name(of: summary, .keySharing2025)
    }

    @Test("A file's name begins with the person's name, without characters that file systems reserve")
    func persons() {
        let suffix = Self.name("DOE.JANE.1").dropFirst("DOE.JANE.1".count)
        #expect(suffix.hasSuffix(".p12"))
        for (name, plain) in [
            ("A/B\\C:D*E?F\"G<H>I|J", "A_B_C_D_E_F_G_H_I_J"), ("a\u{1}b\u{1F}c\u{7F}d\ne", "a_b_c_d_e"),
            (".hidden", "_.hidden"), ("..", "_.."), ("\u{DC}nal", "\u{DC}nal"),
        ] {
            #expect(Self.name(name) == plain + suffix, "\(name)")
        }
        let long = String(repeating: "\u{E9}", count: 100)
        #expect(Self.name(long) == String(repeating: "\u{E9}", count: 60) + suffix)
        #expect(Self.name("a" + long) == "a" + String(repeating: "\u{E9}", count: 59) + suffix)
    }
}
