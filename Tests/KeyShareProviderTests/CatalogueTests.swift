import CertificateReading
import DeviceSimulation
import Foundation
import KeySharing
import OpenSSL
import SecretMemory
import SimulatedKeychain
import TestSupport
import Testing

@testable import KeyShareProvider

@Suite("The provider's catalogue", .timeLimit(.minutes(10)))
struct CatalogueTests {
    private static let group = App.publishedGroup

    private func summary(_ usage: KeyUsage, _ year: Int, _ name: Int) -> IdentitySummary {
        IdentitySummary(
            label: "\(usage.rawValue)-\(year)-\(name)", serialNumber: "\(name)",
            notBefore: Date(timeIntervalSince1970: Double(year - 1970) * 31_557_600),
            facts: CertificateFacts(keyUsage: usage, hasUTF8OtherName: name % 2 == 0))
    }

    private func same(_ left: CatalogueSnapshot, _ right: CatalogueSnapshot) -> Bool {
        let containers: [IdentitySelector?] = [nil] + IdentitySelector.allCases
        return left.generation == right.generation && left.identities.elementsEqual(right.identities)
            && containers.allSatisfy { container in
                let count = left.count(in: container)
                guard count == right.count(in: container) else { return false }
                return (0..<count).allSatisfy {
                    left.identity(at: $0, in: container) == right.identity(at: $0, in: container)
                }
                    && left.identities.allSatisfy {
                        left.identity($0.label, in: container) == right.identity($0.label, in: container)
                    }
            }
            && IdentitySelector.allCases.allSatisfy {
                left.newest(of: $0) == right.newest(of: $0) && left.members(of: $0) == right.members(of: $0)
            }
    }

    @Test(
        "A snapshot built incrementally equals a snapshot of all identities",
        arguments: RootContents.allCases)
    func adding(root: RootContents) {
        let usages: [KeyUsage] = [.keyEncipherment, [.digitalSignature, .nonRepudiation], .digitalSignature]
        var random = Seed("7").generator()
        var all = usages.flatMap { usage in
            [2010, 2017, 2017, 2024].flatMap { year in (0..<6).map { summary(usage, year, $0) } }
        }
        all = Array(Set(all)).sorted { $0.label < $1.label }.shuffled(using: &random)
        for count in 0...all.count {
            let whole = CatalogueSnapshot(generation: 2, identities: all, root: root)
            let begun = CatalogueSnapshot(generation: 1, identities: all.prefix(count), root: root)
            #expect(same(begun.adding(Array(all.dropFirst(count)), generation: 2), whole))
            // Add them one by one.
            let steps = all.dropFirst(count).reduce(begun) { $0.adding([$1], generation: 2) }
            #expect(count == all.count || same(steps, whole))
        }
    }

    @Test("A cached legacy listing equals a new one, except that it has the date of the request")
    func legacyListings() throws {
        let listings = LegacyListings()
        let identities = (0..<6).map { summary(.keyEncipherment, 2017, $0) }
        let requests = try IdentitySelector.allCases.flatMap { selector in
            let (zip, select) = (selector.zipType(under: .legacy), selector.selectType(under: .legacy))
            return try [[zip], [select], [select, zip]].map { try TypeRequest($0, under: .legacy) }
        }
        // There are more requests than the cache keeps.
        #expect(requests.count > 16)
        var seconds = 0.0
        // A slow lookup with an older snapshot may finish after a newer one.
        for (generation, count) in [(1, 2), (1, 2), (2, 6), (1, 2), (2, 6)] as [(Int64, Int)] {
            let snapshot = CatalogueSnapshot(generation: generation, identities: identities.prefix(count))
            for request in requests + requests.prefix(2) {
                seconds += 1
                let now = Date(timeIntervalSince1970: seconds)
                let kept = listings.listing(of: request, in: snapshot, now: now)
                let anew = LegacyListing(snapshot.identities, request: request, now: now)
                #expect(kept.rows == anew.rows && kept.request == anew.request)
                for row in anew.rows {
                    #expect(kept.identities(of: row.identifier) == anew.identities(of: row.identifier))
                }
            }
        }
    }

    @Test("Identities added by another process are read incrementally; other changes reload everything")
    func reading() throws {
        let scratch = try ScratchFolder()
        let store = try ProviderStore(try Device(folder: scratch.path("device")))
        func add(_ year: Int, _ name: Int) throws {
            let summary = summary(.keyEncipherment, year, name)
            try store.keychain.add(
                NewIdentity(
                    label: summary.label, certificate: [1], privateKey: SecretBytes([1]),
                    applicationTag: summary.tag, notBefore: summary.notBefore,
                    accessibility: ProviderStore.accessibility, accessGroup: Self.group))
        }
        /// Returns the labels that were read after `earlier`, and whether they are only those of added identities.
        func labels(
            after earlier: IdentityReading?
        ) throws -> (labels: [String], reading: IdentityReading) {
            let (attributes, reading) = try store.keychain.identityAttributes(
                accessGroup: Self.group, after: earlier)
            return (attributes.map(\.label), reading)
        }
        for name in 0..<3 { try add(2017, name) }
        let first = try labels(after: nil)
        #expect(first.labels == ["4-2017-0", "4-2017-1", "4-2017-2"] && !first.reading.isContinuation)
        let nothing = try labels(after: first.reading)
        #expect(nothing.labels == [] && nothing.reading.isContinuation)
        try add(2024, 0)
        let added = try labels(after: nothing.reading)
        #expect(added.labels == ["4-2024-0"] && added.reading.isContinuation)
        try store.keychain.update(
            KeychainQuery(.identity, label: "4-2017-1"), KeychainChange(applicationTag: [2]))
        #expect(try labels(after: added.reading).labels.count == 4)
        let changed = try labels(after: added.reading)
        #expect(!changed.reading.isContinuation)
        try store.keychain.deleteIdentity(label: "4-2017-0")
        let removed = try labels(after: changed.reading)
        #expect(removed.labels.count == 3 && !removed.reading.isContinuation)
        _ = try store.removeAll()
        try add(2024, 0)
        let anew = try labels(after: removed.reading)
        #expect(anew.labels == ["4-2024-0"] && !anew.reading.isContinuation)
    }
}
