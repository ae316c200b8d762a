import Foundation
import Testing

@testable import KeySharing

@Suite("AliasNaming", .timeLimit(.minutes(10)))
struct AliasNamingTests {
    /// Returns lines such as `2025 signature = Purebred …`, with the year of an identity that loses its alias.
    private func lines(
        _ identities: [IdentitySummary], existing: [String: String] = [:], includingOlder: Bool = false
    ) -> [String] {
        func name(_ label: String) -> String {
            guard let identity = identities.first(where: { $0.label == label }) else { return label }
            let year = 1970 + Int((identity.notBefore.timeIntervalSince1970 / 31_557_600).rounded())
            return "\(year) \(identity.type(under: .legacy))"
        }
        return AliasNaming(existing: existing)
            .assignments(for: identities, includingOlder: includingOlder)
            .map { assignment in
                "\(name(assignment.label)) = \(assignment.alias)"
                    + (assignment.replacedLabel.map { ", replaces \(name($0))" } ?? "")
            }
    }

    private func generations(_ years: [Int], _ types: [CredentialType]) -> [IdentitySummary] {
        years.flatMap { year in types.map { TestIdentities.identity($0, year: year) } }
    }

    @Test("Twelve identities get the documented aliases with --all, and six of them without")
    func twelve() {
        let identities = generations([2017, 2026, 2020, 2023], [.encryption, .signature, .authentication])
        #expect(
            lines(identities) == [
                "2026 signature = Purebred Digital Signature Certificate",
                "2026 authentication = Purebred PIV Authentication Certificate",
                "2026 encryption = Purebred Recovered #1", "2023 encryption = Purebred Recovered #2",
                "2020 encryption = Purebred Recovered #3", "2017 encryption = Purebred Recovered #4",
            ])
        let all = AliasNaming().assignments(for: identities, includingOlder: true).map(\.alias)
        #expect(all == AliasSamples.twelveAliases)
    }

    @Test("A device certificate without key usage is named as one, and identities of unknown type need --all")
    func devices() {
        let identities = [
            TestIdentities.legacyDevice(year: 2016), TestIdentities.identity(.multi, year: 2020),
            TestIdentities.identity(.unknown, year: 2020), TestIdentities.identity(.unknown, year: 2021),
        ]
        #expect(lines(identities) == ["2020 multi = Purebred Device Certificate"])
        #expect(
            lines(identities, includingOlder: true) == [
                "2020 multi = Purebred Device Certificate", "2016 device = Purebred Device Certificate #2",
                "2021 unknown = Purebred Certificate #1", "2020 unknown = Purebred Certificate #2",
            ])
    }

    @Test(
        "A renewed identity replaces its predecessor under the same alias, and a new encryption key gets the next number"
    )
    func renewal() {
        let old = generations([2020], [.signature, .encryption])
        let existing = [
            "Purebred Digital Signature Certificate": old[0].label, "Purebred Recovered #1": old[1].label,
        ]
        let both = old + generations([2023], [.signature, .encryption])
        #expect(
            lines(both, existing: existing) == [
                "2023 signature = Purebred Digital Signature Certificate, replaces 2020 signature",
                "2023 encryption = Purebred Recovered #2",
            ])
        // The predecessor loses its alias, so it is named again.
        #expect(
            lines(both, existing: existing, includingOlder: true) == [
                "2023 signature = Purebred Digital Signature Certificate, replaces 2020 signature",
                "2020 signature = Purebred Digital Signature Certificate #2",
                "2023 encryption = Purebred Recovered #2",
            ])
    }

    @Test("Identities that have entries keep their aliases, and free numbers are used again")
    func existing() {
        let identities = generations([2017, 2020, 2023], [.encryption, .authentication])
        let assignments = AliasNaming().assignments(for: identities, includingOlder: true)
        var store: [String: String] = [:]
        for assignment in assignments { store[assignment.alias] = assignment.label }
        #expect(lines(identities, existing: store, includingOlder: true) == [])
        store["Purebred Recovered #2"] = nil
        store["renamed"] = store.removeValue(forKey: "Purebred PIV Authentication Certificate")
        #expect(
            lines(identities, existing: store, includingOlder: true) == [
                "2020 encryption = Purebred Recovered #2"
            ])
    }

    @Test("Every order of the identities results in the same aliases, which are unique")
    func order() {
        let identities =
            generations([2017, 2020, 2020, 2023], CredentialType.allCases)
            + (1...3).map { TestIdentities.identity(.signature, year: 2023, variant: $0) }
        let unique = Dictionary(identities.map { ($0.label, $0) }) { first, _ in first }.values
        let sorted = unique.sorted { $0.label < $1.label }
        let wanted = AliasNaming().assignments(for: sorted, includingOlder: true)
        #expect(AliasNaming().assignments(for: sorted.reversed(), includingOlder: true) == wanted)
        #expect(Set(wanted.map(\.alias)).count == sorted.count)
        #expect(Set(wanted.map(\.label)).count == sorted.count)
    }

    @Test("An alias has 1 to 255 bytes and no control characters or marks that change the writing direction")
    func validity() {
        for alias in ["a", "Purebred Recovered #1", "Émile", String(repeating: "é", count: 127) + "x"] {
            #expect(AliasNaming.isValid(alias))
        }
        for alias in ["", "a\0", "a\nb", "\u{202E}a", "a\u{2066}", "\u{2028}", "\u{7F}"] {
            #expect(!AliasNaming.isValid(alias), "\(alias.debugDescription)")
        }
        #expect(AliasNaming.isValid(String(repeating: "x", count: 255)))
        #expect(!AliasNaming.isValid(String(repeating: "x", count: 256)))
        #expect(!AliasNaming.isValid(String(repeating: "é", count: 128)))
    }
}
