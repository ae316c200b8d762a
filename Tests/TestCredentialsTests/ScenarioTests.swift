import Diagnostics
@testable import TestCredentials
import DeviceSimulation
import Foundation
import KeySharing
import OpenSSL
@testable import Scenarios
import TestSupport
@testable import TestVectors
import Testing

import KeyShareProvider

@Suite("Scenarios", .timeLimit(.minutes(10)))
struct ScenarioTests {
    private static let date = Date(timeIntervalSince1970: 1_767_225_600)
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
    }

    private func store(_ name: String = "device") throws -> ProviderStore {
        try ProviderStore(try Device(folder: scratch.path(name)))
    }

    private func scenario(_ yaml: String) throws -> Scenario {
        try Scenario(yaml: Array(yaml.utf8), name: "test", source: "test.yaml")
    }

    private func provision(
        _ scenario: Scenario, into store: ProviderStore, seed: UInt64? = nil, at date: Date? = Self.date
    ) async throws -> Provisioner.Outcome {
        try await Provisioner(store).run(
            try ScenarioRun(scenario, in: store, seed: seed, at: date, now: Self.date))
    }

    private static func counts(_ identities: [IdentitySummary], _ mechanism: Mechanism) -> [CredentialType:
        Int]
    {
        Dictionary(grouping: identities) { $0.type(under: mechanism) }.mapValues(\.count)
    }

    /// Returns the contents of all selections, as the provider lists them.
    private func outcome(_ store: ProviderStore) throws -> Scenario.Outcome {
        let snapshot = try ProviderCatalogue(store, root: .all).snapshot()
        var outcome = Scenario.Outcome(counts: [.keySharing2025: [:], .legacy: [:]])
        for selector in IdentitySelector.allCases {
            let members = Self.counts(snapshot.members(of: selector), .keySharing2025)
            if !members.isEmpty { outcome.counts[.keySharing2025]?[selector] = members }
            let request = try TypeRequest([selector.selectType(under: .legacy)], under: .legacy)
            let listing = LegacyListing(snapshot.identities, request: request, now: Self.date)
            let rows = listing.rows.flatMap { listing.identities(of: $0.identifier) }
            if !rows.isEmpty { outcome.counts[.legacy]?[selector] = Self.counts(rows, .legacy) }
        }
        return outcome
    }

    @Test("The built-in scenarios match the files in the folder, and each has a description and an outcome")
    func builtIn() throws {
        let folder = PackageFolder.path + "/Sources/Scenarios/Data/Scenarios"
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(Scenario.builtIn.count == 21)
        #expect(Scenario.builtIn.map { "\($0.name).yaml" }.sorted() == files.sorted())
        for scenario in Scenario.builtIn {
            #expect(scenario.description.hasSuffix("."))
            #expect(scenario.outcome != nil)
        }
    }

    @Test("A built-in scenario produces its documented outcome", arguments: Scenario.builtIn.map(\.name))
    func outcomes(name: String) async throws {
        let store = try store()
        var scenario = try Scenario.named(name)
        // The outcome does not depend on the keys, and RSA keys take long to generate.
        if name != "fresh-user" { scenario.makeKeysQuick() }
        let made = try await provision(scenario, into: store)
        #expect(try outcome(store) == scenario.outcome)
        #expect(try store.identities().count == made.count)
    }

    @Test("The example in the documentation produces its documented outcome")
    func documented() async throws {
        let page = try String(contentsOfFile: PackageFolder.path + "/docs/scenarios.md", encoding: .utf8)
        let example = try #require(page.split(separator: "```yaml\n").last?.split(separator: "```").first)
        let store = try store()
        var scenario = try scenario(String(example))
        scenario.makeKeysQuick()
        _ = try await provision(scenario, into: store)
        // The example documents the outcome of only one mechanism, to keep it short.
        #expect(try outcome(store).counts[.keySharing2025] == scenario.outcome?.counts[.keySharing2025])
        #expect(scenario.service.fault?.name == "slow")
    }

    @Test("An unknown scenario is rejected with the most similar name")
    func unknown() throws {
        do {
            _ = try Scenario.named("fresh-uesr")
            Issue.record("there is no such scenario")
        } catch {
            #expect(error == ProvisioningError(.noSuchScenario, ""))
            #expect(error.remedy == .nearestName("fresh-user"))
        }
        #expect(throws: ProvisioningError(.noSuchScenario, "")) { try Scenario.named("") }
    }

    @Test("One seed produces equal identities in any keychain, including defective ones")
    func seeded() async throws {
        let scenario = try scenario(Self.everything)
        let (first, second) = (try store("first"), try store("second"))
        let made = try await provision(scenario, into: first, seed: 1)
        _ = try await provision(scenario, into: second, seed: 1)
        #expect(made.count == 13)
        #expect(try labels(first) == labels(second))
        #expect(try first.authorityCertificates() == second.authorityCertificates())
        let again = try await provision(scenario, into: first, seed: 1)
        #expect((again.count, again.skipped) == (0, 13))
        let other = try await provision(scenario, into: first, seed: 2)
        #expect(other.count == 13)
    }

    @Test("A run continues an interrupted run, and generates nothing after a finished run")
    func interrupted() async throws {
        let store = try store()
        let scenario = try scenario(Self.everything)
        let interrupted = try ScenarioRun(scenario, in: store, seed: nil, at: nil, now: Self.date)
        // A killed run leaves the first entry's credentials and its record in the keychain.
        let part = try await Provisioner(store).run(
            interrupted.entries[0].run, isWhole: false)
        let rest = try await provision(scenario, into: store, at: nil)
        #expect((rest.count, rest.skipped) == (13 - part.count, part.count))
        // The two identities of the vector `duplicate-serial` share one serial number.
        #expect(Set(try store.identities().map(\.serialNumber)).count == 12)
        let again = try await provision(scenario, into: store, at: nil)
        #expect((again.count, again.skipped) == (0, 13))
    }

    @Test("One set of authorities issues all credentials of a scenario, and each person's names agree")
    func authorities() async throws {
        let store = try store()
        _ = try await provision(try scenario(Self.everything), into: store)
        #expect(try store.authorityCertificates().count == TestAuthorityRole.allCases.count)
        var subjects: Set<String> = []
        try store.forEachCertificate { subjects.insert($0.subject.commonName ?? "") }
        #expect(subjects.contains("EXAMPLE.DANA.1234567890"))
        // Dana, two persons with only a category, and one device for each of these two.
        #expect(subjects.count == 5)
    }

    @Test("Relative dates are resolved from the date of the run, and absolute dates are unchanged")
    func moments() async throws {
        let store = try store()
        _ = try await provision(
            try scenario(
                """
                description: Moments.
                persons:
                  - credentials:
                      - types: signature
                        key: p256
                        starts: [now, 1 week ago, in 2 months, 2020-02-29, 2019-03-01T12:30:00Z]
                      - types: encryption
                        key: p256
                        generations: 2
                        recovered: 1
                        interval: 6 months
                """), into: store)
        let starts = Dictionary(grouping: try store.identities()) { $0.type(under: .keySharing2025) }
            .mapValues { $0.map { $0.notBefore.formatted(.iso8601) }.sorted(by: >) }
        #expect(
            starts[.signature] == [
                "2026-03-01T00:00:00Z", "2026-01-01T00:00:00Z", "2025-12-25T00:00:00Z",
                "2020-02-29T00:00:00Z", "2019-03-01T12:30:00Z",
            ])
        #expect(
            starts[.encryption] == [
                "2025-12-31T00:00:00Z", "2025-06-30T00:00:00Z", "2024-12-30T00:00:00Z",
            ])
    }

    @Test("The service behaviour of a scenario is stored on the device until it is removed")
    func service() throws {
        let device = try Device(folder: scratch.path("device"))
        #expect(try ServiceBehaviour.stored(on: device) == nil)
        let service = try scenario(Self.everything).service
        #expect(service.fault?.name == "wrong-password")
        #expect((service.profile, service.iterations, service.chain) == (.compatible, 1000, true))
        #expect((service.root, service.pasteboardExpiry, service.friendlyName) == (.recent, 5, "Test"))
        try ServiceBehaviour.store(service, on: device)
        #expect(try ServiceBehaviour.stored(on: try Device(folder: scratch.path("device"))) == service)
        try ServiceBehaviour.store(nil, on: device)
        #expect(try ServiceBehaviour.stored(on: device) == nil)
    }

    private func labels(_ store: ProviderStore) throws -> [String] {
        try store.identities().map(\.label).sorted()
    }

    /// A scenario with every feature: thirteen identities.
    private static let everything = """
        description: Everything at once.
        persons:
          - name: EXAMPLE.DANA.1234567890
            email: dana@example.com
            credentials:
              - types: [signature, encryption]
                key: p256
                generations: 2
                recovered: 1
              - profile: dod-2018
                policy-arc: dod
                types: authentication
                key: p384
              - fault: revoked
                key: p256
              - fault: duplicate-serial
                key: p256
          - count: 2
            category: 2
            credentials:
              - types: device
                key: p256
              - fault: untrusted-root
                key: p256
        encoder:
          profile: compatible
          iterations: 1000
          chain: true
          friendly-name: Test
        service:
          fault: wrong-password
          root: recent
          pasteboard-expiry: 5
        """
}

extension Scenario {
    /// Replaces RSA with P-256, whose keys are generated faster.
    fileprivate mutating func makeKeysQuick() {
        persons = persons.map { entry in
            Persons(
                description: entry.description, count: entry.count,
                credentials: entry.credentials.map {
                    var credentials = $0
                    credentials.algorithm = $0.algorithm ?? .p256
                    return credentials
                },
                defects: entry.defects.map { Defect(vector: $0.vector, algorithm: .p256) })
        }
    }
}
