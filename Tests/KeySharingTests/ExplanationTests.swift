import Foundation
import Testing

@testable import KeySharing

@Suite("Explanations", .timeLimit(.minutes(10)))
struct ExplanationTests {
    private let generations = [2018, 2024].flatMap { year in
        [CredentialType.encryption, .signature, .authentication].map {
            TestIdentities.identity($0, year: year)
        }
    }

    private func item(_ identifier: ItemIdentifier, _ type: String, _ kind: Item.Kind) -> Item {
        Item(
            identifier: identifier.description, filename: "x", kind: kind, contentType: type,
            parent: Item.root,
            size: nil, created: Date(timeIntervalSince1970: 0))
    }

    private func decision(
        _ item: Item, asking types: [String], identities: [IdentitySummary]? = nil
    ) throws -> ItemDecision {
        let request = try TypeRequest(types, under: .keySharing2025)
        let rows = Explanation.keySharing2025(
            items: [item], identities: identities ?? generations, request: request)
        return try #require(rows.first)
    }

    private var member: Item {
        item(.member(.signature, label: generations[1].label), "purebred2025.select.signature-p12", .pkcs12)
    }
    private var folder: Item { item(.folder(.signature), "purebred2025.select.signature", .folder) }
    private var zip: Item { item(.zip(.device), "purebred2025.zip.device", .zip) }

    @Test(
        "An explanation reports that an item was requested by its type or by a supertype")
    func requested() throws {
        for types in [["purebred2025.select.signature-p12"], ["com.rsa.pkcs-12"], ["public.data"]] {
            let decision = try decision(member, asking: types)
            #expect(decision.state == .enabled && decision.reason == .requested && decision.missing.isEmpty)
            #expect(decision.message.contains(types[0]))
        }
    }

    @Test("An explanation reports that an item was not requested, and the type that would request it")
    func notRequested() throws {
        let decision = try decision(member, asking: ["purebred2025.zip.all"])
        #expect(decision.state == .disabled && decision.reason == .notRequested)
        #expect(decision.missing == ["purebred2025.select.signature-p12"])
    }

    @Test("An explanation reports that a folder's type was requested without its companion")
    func companionMissing() throws {
        let file = try decision(member, asking: ["purebred2025.select.signature"])
        #expect(file.state == .disabled && file.reason == .companionMissing)
        #expect(file.missing == ["purebred2025.select.signature-p12"])
        let container = try decision(folder, asking: ["purebred2025.select.signature"])
        #expect(container.state == .enabled && container.reason == .folderContentsDisabled)
        #expect(container.missing == ["purebred2025.select.signature-p12"])
        let both = try decision(
            folder, asking: ["purebred2025.select.signature", "purebred2025.select.signature-p12"])
        #expect(both.reason == .requested)
    }

    @Test("An explanation reports that a folder or zip is empty, whether or not it is enabled")
    func emptySelection() throws {
        #expect(try decision(zip, asking: ["public.zip-archive"]).reason == .emptySelection)
        #expect(try decision(zip, asking: ["public.zip-archive"]).isEnabled)
        let disabled = try decision(zip, asking: ["public.folder"])
        #expect(disabled.reason == .emptySelection && disabled.missing == ["purebred2025.zip.device"])
    }

    @Test(
        "An explanation names the newer identity that hides an older one, and the type that lists every generation"
    )
    func olderGeneration() throws {
        let request = try TypeRequest(["purebred2025.zip.signature"], under: .keySharing2025)
        let rows = Explanation.keySharing2025(items: [], identities: generations, request: request)
        #expect(rows.map(\.reason) == [.olderGeneration])
        #expect(rows[0].identifier == "Signature.\(generations[1].label)")
        #expect(rows[0].message.contains(generations[4].label.prefix(8)))
        #expect(rows[0].missing == ["purebred2025.zip.no-filter"])
        #expect(rows[0].state == .absent)
    }

    @Test(
        "An explanation reports why an older identity is absent from a root that lists only the newest"
    )
    func absentFromRoot() throws {
        let listed = generations.suffix(3).map {
            item(.identity(label: $0.label), "com.rsa.pkcs-12", .pkcs12)
        }
        let rows = Explanation.keySharing2025(
            items: listed, identities: generations,
            request: try TypeRequest(["com.rsa.pkcs-12"], under: .keySharing2025))
        let absent = rows.filter { $0.item?.parent == Item.root && $0.state == .absent }
        // Every generation of encryption belongs at the root, so no filter explains the missing older one.
        #expect(absent.count { $0.reason == .olderGeneration } == 2)
        let signature = absent.first { $0.identifier == generations[1].label }
        #expect(signature?.missing.count == 2)
        let complete = generations.map { item(.identity(label: $0.label), "com.rsa.pkcs-12", .pkcs12) }
        #expect(
            Explanation.keySharing2025(
                items: complete, identities: generations,
                request: try TypeRequest(["com.rsa.pkcs-12"], under: .keySharing2025)
            ).allSatisfy(\.isEnabled))
    }

    @Test("An explanation names the archive that a legacy request returns")
    func archive() throws {
        let request = try TypeRequest(["purebred.zip.signature"], under: .legacy)
        let rows = Explanation.legacy(identities: generations, request: request)
        #expect(rows.count == generations.count + 1)
        #expect(rows[0].identifier == "tmp.zip" && rows[0].isEnabled && rows[0].item?.kind == .zip)
        #expect(rows[0].message.contains("1 of 6"))
    }

    @Test("An explanation reports why a type is unknown, with the key usage and names that led to it")
    func typeUnknown() throws {
        let unknown = [TestIdentities.identity(.unknown, year: 2024)]
        let request = try TypeRequest(["purebred2025.zip.all"], under: .keySharing2025)
        let row = try #require(
            Explanation.keySharing2025(items: [], identities: unknown, request: request).first)
        #expect(row.reason == .typeUnknown)
        #expect(row.message.contains("cRLSign"))
        #expect(row.missing == ["purebred2025.zip.no-filter"])
        let legacy = try TypeRequest(["purebred.select.signature"], under: .legacy)
        let legacyRow = try #require(Explanation.legacy(identities: unknown, request: legacy).first)
        #expect(legacyRow.reason == .typeUnknown && legacyRow.missing == ["purebred.select.all"])
    }

    @Test("An explanation reports that the mechanisms classify an identity differently")
    func classifiedDifferently() throws {
        let device = [TestIdentities.identity(.device, year: 2024)]
        let request = try TypeRequest(["purebred2025.zip.authentication"], under: .keySharing2025)
        let row = try #require(
            Explanation.keySharing2025(items: [], identities: device, request: request).first)
        #expect(row.reason == .classifiedDifferently)
        #expect(row.missing == ["purebred2025.zip.device"])
        let legacy = try TypeRequest(["purebred.select.device"], under: .legacy)
        #expect(
            Explanation.legacy(identities: device, request: legacy).first?.reason == .classifiedDifferently)
    }

    @Test("An explanation covers every identity of a legacy provider, and types without an identity")
    func legacy() throws {
        let request = try TypeRequest(["purebred.select.signature"], under: .legacy)
        let rows = Explanation.legacy(identities: generations, request: request)
        let older = rows.filter { $0.reason == .olderGeneration }
        #expect(rows.count { $0.reason == .requested } == 1)
        #expect(older.count == 1)
        #expect(older.first?.missing == ["purebred.select.no-filter"])
        #expect(rows.count == generations.count)
        let none = try TypeRequest(["purebred.zip.no-filter"], under: .legacy)
        let last = try #require(Explanation.legacy(identities: generations, request: none).last)
        #expect(last.identifier == "purebred.zip.no-filter" && last.reason == .emptySelection)
    }

    @Test("An explanation names each type that cannot be requested, with the type to request instead")
    func types() {
        let problems = TypeRequest.problems(
            with: [
                "purebred2025.select.all_user", "nobody.knows", "purebred.select.all", "purebred2025.zip.all",
            ],
            under: .keySharing2025)
        let rows = Explanation.rows(for: problems)
        #expect(rows.map(\.reason) == [.deprecatedSpelling, .undeclaredType, .mixedMechanisms])
        #expect(rows[0].missing == ["purebred2025.select.all-user"])
        let other = TypeRequest.problems(with: ["purebred.select.all"], under: .keySharing2025)
        #expect(Explanation.rows(for: other).map(\.reason) == [.otherMechanism])
    }

    @Test("A request with an invalid type enables no item, and each item's explanation names that type")
    func refusal() {
        let problems = TypeRequest.problems(
            with: ["purebred2025.select.encrypt", "purebred2025.rsa.pkcs-12"], under: .keySharing2025)
        let items = generations.map { Item.file($0, under: .keySharing2025) }
        let rows = Explanation.refusal(for: problems, items: items, under: .keySharing2025)
        #expect(rows.first?.reason == .undeclaredType)
        #expect(rows.dropFirst().map(\.identifier) == items.map(\.identifier))
        for row in rows.dropFirst() {
            #expect(row.state == .disabled && row.reason == .invalidRequest)
            #expect(row.message.contains("purebred2025.select.encrypt"))
        }
        let legacy = Explanation.refusal(for: problems, items: items, under: .legacy)
        #expect(legacy.dropFirst().allSatisfy { $0.state == .absent })
    }

    @Test(
        "A request enables an item if and only if its type was requested, in ten thousand sets of types"
    )
    func everySet() throws {
        let types = Mechanism.keySharing2025.requestableTypes
        let items =
            [item(.identity(label: generations[0].label), types[0], .pkcs12)]
            + IdentitySelector.allCases.flatMap { selector in
                [
                    item(.folder(selector), selector.selectType(under: .keySharing2025), .folder),
                    item(.member(selector, label: generations[0].label), selector.companionType, .pkcs12),
                    item(.zip(selector), selector.zipType(under: .keySharing2025), .zip),
                ]
            }
        var masks: Set<Int> = []
        for first in types.indices {
            for second in types.indices { masks.insert(1 << first | 1 << second) }
        }
        var state: UInt64 = 2025
        while masks.count < 10_253 {
            // A linear congruential generator (Knuth, MMIX): the same sets in every run.
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            masks.insert(max(Int(state >> 42), 1))
        }
        for mask in masks {
            let asked = Set(types.indices.filter { mask & (1 << $0) != 0 }.map { types[$0] })
            let request = try TypeRequest(Array(asked), under: .keySharing2025)
            for item in items
            where request.keySharing2025Decision(for: item).isEnabled != asked.contains(item.contentType) {
                Issue.record("\(item.contentType) for \(asked.sorted())")
                return
            }
        }
    }
}
