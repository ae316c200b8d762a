import Foundation
import Testing

@testable import KeySharing

@Suite("Rules of selections, requests and details", .timeLimit(.minutes(10)))
struct SelectionRuleTests {
    @Test("In a union of selections, every identity of a type takes precedence, in either order")
    func union() {
        let recent = Selection([.signature: .mostRecent, .encryption: .everyOne])
        let every = Selection([.signature: .everyOne, .device: .mostRecent])
        let expected: [CredentialType: Selection.Extent] = [
            .signature: .everyOne, .encryption: .everyOne, .device: .mostRecent,
        ]
        for (first, second) in [(recent, every), (every, recent)] {
            var union = first
            union.formUnion(second)
            #expect(union.extents == expected)
        }
    }

    @Test("A type that is requested twice counts once, in its first place")
    func repeatedTypes() throws {
        let types = ["purebred.select.all", "purebred.select.no-filter", "purebred.zip.all"]
        for mechanism in [Mechanism.keySharing2025, .legacy] {
            let plain = mechanism.plainType
            let request = try TypeRequest([plain, plain], under: mechanism)
            #expect(request.identifiers == [plain])
        }
        let legacy = types.filter { (try? TypeRequest([$0], under: .legacy)) != nil }
        #expect(try TypeRequest(legacy + legacy.reversed(), under: .legacy).identifiers == legacy)
    }

    @Test("Every identity of a list is found at its position, and another identity is not")
    func positions() {
        let identities = (2020...2025).flatMap { year in
            [CredentialType.signature, .encryption].map { TestIdentities.identity($0, year: year) }
        }
        for mechanism in [Mechanism.keySharing2025, .legacy] {
            let sorted = SortedIdentities(identities, under: mechanism)
            for identity in identities {
                let index = sorted.firstIndex(of: identity)
                #expect(index != nil)
                if let index { #expect(sorted.identities[index].label == identity.label) }
            }
            for year in [2019, 2022, 2026] {
                let other = TestIdentities.identity(.signature, year: year, variant: 7)
                #expect(sorted.firstIndex(of: other) == nil)
            }
        }
    }

    @Test("Each bit of a key usage is decoded, in the first or in the second octet")
    func keyUsage() {
        #expect(KeyUsage(bitString: [0x80]) == .digitalSignature)
        #expect(KeyUsage(bitString: [0x01]) == .encipherOnly)
        #expect(KeyUsage(bitString: [0x08, 0x80]) == [.keyAgreement, .decipherOnly])
        #expect(KeyUsage(bitString: [0x00, 0x7F]) == [])
        #expect(KeyUsage(bitString: []) == [])
    }

    @Test("A person is named by parts of the name, the address or the EDIPI, but not by a blank text")
    func persons() {
        func details(_ name: String?, _ email: String?, _ edipi: String?) -> IdentityDetails {
            IdentityDetails(
                subject: "CN=X", commonName: name, email: email, edipi: edipi,
                notAfter: Date(timeIntervalSince1970: 0))
        }
        let jordan = details("RIVERA.JORDAN.LEE.1234567890", "jordan@mail.example", "1234567890")
        for text in ["jordan rivera", "Rivera, Jor", "lee", "@mail", "12345", "jord riv 123"] {
            #expect(jordan.names(person: text), "\(text)")
        }
        for text in ["ordan rivera", "jordan smith", " ", ",. ", "rivera x"] {
            #expect(!jordan.names(person: text), "\(text)")
        }
        let empty = details("", "", "")
        #expect(empty.commonName == nil && empty.email == nil && empty.edipi == nil)
        #expect(!empty.names(person: "jordan") && !empty.names(person: ","))
    }
}
