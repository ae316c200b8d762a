@testable import TestCredentials
import DeviceSimulation
import Foundation
import KeySharing
import OpenSSL
import TestSupport
import Testing

import KeyShareProvider

@Suite("Provisioning")
struct ProvisionerTests {
    private static let date = Date(timeIntervalSince1970: 1_767_225_600)
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
    }

    private func store(_ name: String) throws -> ProviderStore {
        try ProviderStore(try Device(folder: scratch.path(name)))
    }

    private func run(
        _ store: ProviderStore, seed: String? = nil, shard: ProvisioningRequest.Shard? = nil, count: Int = 4,
        configure: (inout ProvisioningRequest) -> Void = { _ in }
    ) throws -> ProvisioningRun {
        try ProvisioningRun(in: store, seed: seed.map { Seed($0) }, at: Self.date) { date in
            var request = ProvisioningRequest(
                personCount: count, generations: 2, algorithm: .p256, date: date)
            request.shard = shard
            configure(&request)
            return request
        }
    }

    private func labels(_ store: ProviderStore) throws -> [String] {
        try store.identities().map(\.label).sorted()
    }

    @Test("from one seed gives the same identities and authorities anywhere, again and again")
    func seeded() async throws {
        let (first, second) = (try store("first"), try store("second"))
        let made = try await Provisioner(first).run(try run(first, seed: "1"))
        #expect(made.count == 24)
        _ = try await Provisioner(second, width: 1).run(try run(second, seed: "1"))
        #expect(try labels(first) == labels(second))
        #expect(try first.authorityCertificates() == second.authorityCertificates())

        let again = try await Provisioner(first).run(try run(first, seed: "1"))
        #expect((again.count, again.skipped) == (0, 24))
        _ = try await Provisioner(first).run(try run(first, seed: "2"))
        #expect(try labels(first).count == 48)
    }

    @Test("in parts, put together, gives what one run gives")
    func shards() async throws {
        let (whole, together) = (try store("whole"), try store("together"))
        _ = try await Provisioner(whole).run(try run(whole, seed: "1", count: 5))
        for number in 1...3 {
            let part = try store("part\(number)")
            let shard = ProvisioningRequest.Shard(number: number, count: 3)
            _ = try await Provisioner(part).run(try run(part, seed: "1", shard: shard, count: 5))
            #expect(try labels(part).count < 30)
            _ = try together.merge(part)
        }
        #expect(try labels(together) == labels(whole))
        #expect(try together.authorityCertificates() == whole.authorityCertificates())
        #expect(try together.merge(try store("part1")) == 0)
    }

    @Test("keeps what was revoked on any of the devices that are put together, from the earliest date")
    func mergedRevocations() async throws {
        let (first, second, merged) = (try store("first"), try store("second"), try store("merged"))
        for store in [first, second] {
            _ = try await Provisioner(store).run(try run(store, seed: "1", count: 1))
        }
        let certificates = try labels(first).map { try first.certificate($0) }
        try first.register(issued: [certificates[1]], revoked: [certificates[0]], at: Self.date)
        let earlier = Self.date.addingTimeInterval(-60)
        try second.register(revoked: Array(certificates[..<2]), at: earlier)
        for other in [first, second, first] { _ = try merged.merge(other) }
        #expect(
            Set(try merged.register())
                == Set(certificates[..<2].map { IssuanceRecord($0, revoked: earlier) }))
        let listed = try merged.revocationLists(at: Self.date).flatMap(\.entries)
        #expect(Set(listed.map(\.serialNumber)) == Set(certificates[..<2].map(\.serialNumber)))
    }

    @Test("forgets issued certificates before it forgets a revoked one")
    func fullRegister() async throws {
        let store = try store("device")
        _ = try await Provisioner(store).run(try run(store, count: 1))
        let certificate = try store.certificate(try #require(try labels(store).first))
        try store.register(revoked: [certificate], at: Self.date)
        let issued = (0..<ProviderStore.mostLines).map {
            IssuanceRecord(issuer: "00", serialNumber: String($0, radix: 16, uppercase: true))
        }
        try store.add(toRegister: issued)
        let register = try store.register()
        #expect(register.count == ProviderStore.mostLines)
        #expect(register.first == IssuanceRecord(certificate, revoked: Self.date))
        #expect(register.last == issued.last && !register.contains(issued[0]))
    }

    @Test("goes on where a run was interrupted, and starts anew after one that was not")
    func interrupted() async throws {
        let store = try store("device")
        let interrupted = try run(store)
        var part = interrupted.request
        part.personCount = 1
        // What a killed run leaves: some of its identities, and its note in the keychain.
        _ = try await Provisioner(store).run(
            part, from: interrupted.sources.drawing, keys: interrupted.sources.keys)
        let rest = try await Provisioner(store).run(try run(store))
        #expect((rest.count, rest.skipped) == (18, 6))
        let serials = try store.identities().map(\.serialNumber)
        #expect(Set(serials).count == 24)

        let next = try await Provisioner(store).run(try run(store))
        #expect((next.count, next.skipped) == (24, 0))
    }

    @Test("makes the generations of given dates and recovered keys older than these")
    func generations() async throws {
        let store = try store("device")
        let starts = ["2024-12-03", "2021-12-04", "2018-11-03"].compactMap {
            try? Date($0, strategy: .iso8601.year().month().day())
        }
        _ = try await Provisioner(store).run(
            try run(store, count: 1) {
                $0.sets[0].starts = starts
                $0.sets[0].recovered = 2
            })
        let encryption = try store.identities().filter { $0.type(.keySharing2025) == .encryption }
        let dates = encryption.map(\.notBefore).sorted(by: >)
        #expect(dates.count == 5)
        #expect(Array(dates.prefix(3)) == starts)
        #expect(dates[3] < starts[2] && dates[4] < dates[3])
        #expect(try store.identities().count == 11)
    }

    @Test("refuses types that the profile does not have, and profiles that there are not")
    func refusals() throws {
        var request = ProvisioningRequest(personCount: 1, types: [.device], date: Self.date)
        request.sets[0].profile = "derived-piv"
        #expect(throws: ProvisioningError(.typeNotInProfile, "")) { try request.slotCount() }
        request.sets[0].profile = "nothing"
        #expect(throws: ProvisioningError(.noSuchProfile, "")) { try request.slotCount() }
    }

    @Test("refuses generations and recovered keys from before 1900")
    func tooOld() throws {
        var request = ProvisioningRequest(
            personCount: 1, types: [.encryption], generations: 42, date: Self.date)
        #expect(try request.slotCount() == 42)
        request.sets[0].recovered = 1
        #expect(throws: ProvisioningError(.dateOutOfRange, "")) { try request.slotCount() }
        request = ProvisioningRequest(personCount: 1, types: [.encryption], generations: 43, date: Self.date)
        #expect(throws: ProvisioningError(.dateOutOfRange, "")) { try request.slotCount() }
    }

    @Test(
        "refuses descriptions of persons that cannot be",
        arguments: [
            #"{"name": "Single"}"#, #"{"edipi": "123"}"#, #"{"email": "nobody"}"#, #"{"category": "x"}"#,
            #"[{"organization": "12345"}]"#, "[]", "{", "7", #"{"nam": "Dana Example"}"#,
            #"{"name": "DOE.JOHN.1234567890", "edipi": "1234567891"}"#, #"{"name": "Jo\u0001hn Doe"}"#,
            #"{"name": "Jo.hn Doe"}"#, #"[{"edipi": "1234567890"}, {"name": "DOE.JOHN.1234567890"}]"#,
        ])
    func persons(json: String) throws {
        let error = #expect(throws: ProvisioningError(.malformedPerson, "")) {
            try PersonDescription.list(Array(json.utf8), source: "people.json")
        }
        #expect(error?.reason.hasPrefix("people.json:") == true)
    }

    @Test(
        "reads a name in either form, and makes an address of letters that every mail program takes",
        arguments: [
            ("J. Edgar Hoover", "HOOVER.J.EDGAR.", "j.hoover."),
            ("VAN DYKE.JOHN.Q.1234567890", "VAN DYKE.JOHN.Q.1234567890", "john.vandyke.7890"),
            ("José Müller", "MÜLLER.JOSÉ.", "jose.muller."), ("明 李", "李.明.", "ming.li."),
        ])
    func names(name: String, commonName: String, address: String) throws {
        var random = Seed("1").generator()
        let person = try #require(TestPerson(name: name, using: &random))
        #expect(person.commonName.hasPrefix(commonName))
        #expect(person.emailAddress.hasPrefix(address))
    }

    @Test("takes a number for an identifier, which JSON's writers make of it")
    func numbers() throws {
        let list = try PersonDescription.list(Array(#"{"edipi": 1234567890}"#.utf8), source: "-")
        #expect(list.first?.edipi == "1234567890")
    }
}
