import Testing

@testable import KeySharing

@Suite("The list of a legacy provider", .timeLimit(.minutes(10)))
struct LegacyRequestTests {
    /// Four generations of each of the four types, and one identity that matches no rule.
    private let identities: [IdentitySummary] =
        [2015, 2018, 2021, 2024].flatMap { year in
            [
                TestIdentities.identity(.encryption, year: year),
                TestIdentities.identity(.signature, year: year),
                TestIdentities.identity(.authentication, year: year), TestIdentities.legacyDevice(year: year),
            ]
        } + [TestIdentities.identity(.unknown, year: 2020)]

    /// An independent implementation of docs/rules.md R4. Returns the form of the answer and the labels of the selected
    /// identities.
    private func obviousAnswer(_ requested: Set<String>) -> (isArchive: Bool, labels: Set<String>) {
        let isArchive = requested.contains { $0.hasPrefix("purebred.zip.") }
        let prefix = isArchive ? "purebred.zip." : "purebred.select."
        let family = requested.filter { $0.hasPrefix(prefix) || (!isArchive && $0 == "com.rsa.pkcs-12") }
        let lifted =
            requested.contains("purebred.select.no-filter") || requested.contains("purebred.zip.no-filter")
        var labels: Set<String> = []
        for identity in identities {
            let type = identity.type(under: .legacy)
            let sameType = identities.filter { $0.type(under: .legacy) == type }
            let isNewest = sameType.allSatisfy { $0.notBefore <= identity.notBefore }
            for uti in family {
                let word = uti == "com.rsa.pkcs-12" ? "all" : String(uti.dropFirst(prefix.count))
                let named: Bool
                switch word {
                case "all": named = true
                case "all-user": named = [.encryption, .signature, .authentication, .multi].contains(type)
                case "no-filter": named = false
                default: named = type.rawValue == word
                }
                if named, isNewest || lifted || type == .encryption || type == .unknown {
                    labels.insert(identity.label)
                }
            }
        }
        return (isArchive, labels)
    }

    @Test(
        "A legacy request selects the same identities as a reference implementation, for every set of types"
    )
    func everySet() {
        let types = Mechanism.legacy.requestableTypes
        #expect(types.count == 15)
        for mask in 0..<(1 << types.count) {
            let requested = Set(types.indices.filter { mask & (1 << $0) != 0 }.map { types[$0] })
            let request = LegacyRequest(types: requested)
            let members = SortedIdentities(identities, under: .legacy).members(of: request.selection)
            let wanted = obviousAnswer(requested)
            guard (request.shape == .archive) == wanted.isArchive, Set(members.map(\.label)) == wanted.labels
            else {
                Issue.record("differs for \(requested.sorted())")
                return
            }
        }
    }

    @Test("A legacy request includes every identity that shares the latest notBefore")
    func sharedNotBefore() {
        let twins = [0, 1].map { TestIdentities.identity(.signature, year: 2024, variant: $0) }
        let older = TestIdentities.identity(.signature, year: 2021)
        let request = LegacyRequest(types: ["purebred.select.signature"])
        let members = SortedIdentities(twins + [older], under: .legacy).members(of: request.selection)
        #expect(Set(members) == Set(twins))
    }

    @Test("An identity for signing and encryption is listed only under all, all-user and the plain type")
    func multi() {
        let multi = TestIdentities.identity(.multi, year: 2024)
        for type in Mechanism.legacy.requestableTypes {
            let request = LegacyRequest(types: [type])
            let isListed = !SortedIdentities([multi], under: .legacy).members(of: request.selection).isEmpty
            #expect(
                isListed
                    == (type == "com.rsa.pkcs-12" || type.hasSuffix(".all") || type.hasSuffix(".all-user")))
        }
    }
}
