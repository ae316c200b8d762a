import Foundation
import KeyShareConsumer
import KeySharing
import Testing

@Suite("Requirement", .timeLimit(.minutes(10)))
struct RequirementTests {
    @Test(
        "A requirement is parsed from a type, optionally with a count of 1 or more",
        arguments: [
            ("signature", Requirement(.signature)), ("encryption:4", Requirement(.encryption, count: 4)),
            ("unknown:1", Requirement(.unknown)), ("multi", nil), ("nobody", nil), ("", nil), (":", nil),
            ("signature:", nil), ("signature:0", nil), ("signature:-1", nil), ("signature:x", nil),
            ("signature:1:1", nil), ("Signature", nil),
        ] as [(String, Requirement?)])
    func reading(text: String, expected: Requirement?) {
        #expect(Requirement(text) == expected)
    }

    @Test("A requirement is printed as type and count, and a count of 1 is omitted")
    func printing() {
        #expect(Requirement(.signature).description == "signature")
        #expect(Requirement(.encryption, count: 4).description == "encryption:4")
    }

    private func identity(_ label: String, _ usage: KeyUsage) -> IdentitySummary {
        IdentitySummary(
            label: label, serialNumber: "01", notBefore: Date(timeIntervalSince1970: 0),
            facts: CertificateFacts(keyUsage: usage))
    }

    @Test("Missing identities are counted by type, and an identity that was imported twice counts once")
    func missing() {
        let encryption = identity("A", .keyEncipherment)
        let signature = identity("B", [.digitalSignature, .nonRepudiation])
        let required = [
            Requirement(.signature), Requirement(.encryption, count: 2), Requirement(.encryption, count: 3),
            Requirement(.device),
        ]
        #expect(
            Requirement.missing(required, in: [signature, encryption, encryption])
                == [Requirement(.encryption, count: 2), Requirement(.device)])
        #expect(Requirement.missing([Requirement(.signature)], in: [signature]).isEmpty)
        #expect(Requirement.missing([], in: []).isEmpty)
    }
}
