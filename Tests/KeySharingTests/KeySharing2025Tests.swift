import Testing

@testable import KeySharing

@Suite("The names and contents of the 2025 mechanism", .timeLimit(.minutes(10)))
struct KeySharing2025Tests {
    private let identities = [2015, 2018, 2021, 2024].flatMap { year in
        [CredentialType.encryption, .signature, .authentication].map {
            TestIdentities.identity($0, year: year)
        }
    }

    private func count(_ selector: IdentitySelector, _ identities: [IdentitySummary]) -> Int {
        SortedIdentities(identities, under: .keySharing2025).members(
            of: selector.selection(under: .keySharing2025)
        )
        .count
    }

    @Test(
        "Every selector selects as many of twelve identities as the sample app lists",
        arguments: [
            (IdentitySelector.allUser, 6), (.all, 6), (.authentication, 1), (.signature, 1), (.encryption, 4),
            (.device, 0),
            (.noFilter, 12),
        ])
    func sampleCounts(selector: IdentitySelector, expected: Int) {
        #expect(count(selector, identities) == expected)
    }

    @Test("Selectors all and device select only the newest device identity; no-filter selects every one")
    func deviceRules() {
        let more = identities + [2018, 2024].map { TestIdentities.identity(.device, year: $0) }
        #expect(IdentitySelector.allCases.map { count($0, more) } == [6, 7, 1, 1, 4, 1, 14])
    }

    @Test("Only no-filter selects an identity of unknown type")
    func unknownRules() {
        let unknown = [TestIdentities.identity(.unknown, year: 2024)]
        let selectors = IdentitySelector.allCases.filter { count($0, unknown) > 0 }
        #expect(selectors == [.noFilter])
    }

    @Test("Identities are ordered by type, the newest first within a type")
    func order() {
        let mixed = (identities + [TestIdentities.identity(.device, year: 2024)]).shuffled()
        let sorted = SortedIdentities(mixed, under: .keySharing2025).identities
        let expected: [CredentialType] = [
            .encryption, .encryption, .encryption, .encryption, .device,
            .signature, .signature, .signature, .signature,
            .authentication, .authentication, .authentication, .authentication,
        ]
        #expect(sorted.map { $0.type(under: .keySharing2025) } == expected)
        let dates = sorted.prefix(4).map(\.notBefore)
        #expect(dates == dates.sorted(by: >))
    }

    @Test("An item identifier parses every string that it writes, and rejects all others")
    func identifiers() throws {
        let label = identities[0].label
        for selector in IdentitySelector.allCases {
            for identifier in [
                ItemIdentifier.identity(label: label), .member(selector, label: label), .folder(selector),
                .zip(selector),
            ] {
                #expect(ItemIdentifier(identifier.description) == identifier)
            }
        }
        for text in [
            "", "root", ".", "All.", "all", "Nobody.\(label)", label.lowercased(), "\(label)0", "All.zip.zip",
        ] {
            #expect(ItemIdentifier(text) == nil, "\(text)")
        }
    }

    @Test("A published file is named by type and serial number")
    func filenames() {
        let names = CredentialType.allCases.map {
            TestIdentities.identity($0, year: 2024).filename(under: .keySharing2025)
        }
        let prefixes = names.map { $0.prefix { $0 != "_" } }
        #expect(prefixes == ["encryption", "device", "signature", "piv", "device", "unknown"])
        #expect(names.allSatisfy { $0.hasSuffix(".p12") })
    }

    @Test("Every type that can be requested is declared")
    func declared() throws {
        for mechanism in Mechanism.allCases {
            for type in mechanism.requestableTypes {
                #expect(try TypeRequest([type], under: mechanism).identifiers == [type])
            }
        }
        #expect(Mechanism.keySharing2025.requestableTypes.count == 22)
    }
}
