import CertificateReading
import Diagnostics
@testable import TestCredentials
import DeviceSimulation
import Foundation
import KeySharing
import OpenSSL
import Synchronization
import TestSupport
@testable import TestVectors
import Testing

import KeyShareProvider

@Suite("Provisioning", .timeLimit(.minutes(10)))
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
        var request = ProvisioningRequest(
            personCount: count, generations: 2, algorithm: .p256, date: Self.date)
        request.shard = shard
        configure(&request)
        return try ProvisioningRun(
            request, in: store, seed: seed.map { Seed($0) }, at: Self.date, now: Self.date)
    }

    private func labels(_ store: ProviderStore) throws -> [String] {
        try store.identities().map(\.label).sorted()
    }

    @Test("One seed produces equal identities and authorities in any keychain, at any concurrency")
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

    @Test("A stopped run is continued by a repetition, and a finished one is not")
    func stopped() async throws {
        let store = try store("device")
        let request = ProvisioningRequest(personCount: 4, generations: 2, algorithm: .p256, date: Self.date)
        func run() throws -> ProvisioningRun {
            try ProvisioningRun(
                request, in: store, seed: nil, at: Self.date, now: Self.date, isRepeated: true)
        }
        let calls = Mutex(0)
        let control = ProvisioningControl {
            calls.withLock { calls in
                calls += 1
                return calls > 3
            }
        }
        let stopped = try await Provisioner(store, width: 1, control: control).run(try run())
        #expect(stopped.isStopped && (1..<24).contains(stopped.count))
        let continued = try await Provisioner(store).run(try run())
        #expect(continued.skipped == stopped.count && !continued.isStopped)
        #expect(try labels(store).count == 24)
        let another = try await Provisioner(store).run(try run())
        #expect((another.count, another.skipped) == (24, 0))
    }

    @Test("The merged parts of a seeded run equal the result of one run")
    func shards() async throws {
        let (whole, together) = (try store("whole"), try store("together"))
        _ = try await Provisioner(whole).run(try run(whole, seed: "1", count: 5))
        for number in 1...3 {
            let part = try store("part\(number)")
            let shard = ProvisioningRequest.Shard(number: number, count: 3)
            _ = try await Provisioner(part).run(try run(part, seed: "1", shard: shard, count: 5))
            #expect(try labels(part).count == [12, 12, 6][number - 1])
            _ = try ProvisioningStore(together).merge(part)
        }
        let first = try store("first")
        let shard = ProvisioningRequest.Shard(number: 1, count: .max)
        _ = try await Provisioner(first).run(try run(first, seed: "1", shard: shard, count: 5))
        #expect(try labels(first).count == 6)
        #expect(try labels(together) == labels(whole))
        #expect(try together.authorityCertificates() == whole.authorityCertificates())
        #expect(try ProvisioningStore(together).merge(try store("part1")).added == 0)
    }

    @Test("Merging publishes no identity that is token-only here, and adds nothing if tokens cannot be added")
    func mergedTokens() async throws {
        let (alone, published, locked) = (try store("alone"), try store("published"), try store("locked"))
        _ = try await Provisioner(alone, as: .tokenOnly).run(try run(alone, seed: "1"))
        _ = try await Provisioner(published).run(try run(published, seed: "1"))
        _ = try ProvisioningStore(alone).merge(published)
        #expect(try labels(alone).isEmpty && alone.heldIdentities().count == 24)
        _ = try await Provisioner(published, as: .tokenOnly).run(try run(published, seed: "2"))
        try locked.device.lock()
        #expect(throws: (any Error).self) { try ProvisioningStore(locked).merge(published) }
        #expect(try labels(locked).isEmpty && locked.authorityCertificates().isEmpty)
    }

    @Test("Merging keeps the revocations of all devices, with the earliest date")
    func mergedRevocations() async throws {
        let (first, second, merged) = (try store("first"), try store("second"), try store("merged"))
        for store in [first, second] {
            _ = try await Provisioner(store).run(try run(store, seed: "1", count: 1))
        }
        let certificates = try labels(first).map { try first.certificate($0) }
        try ProvisioningStore(first).register(
            issued: [certificates[1]], revoked: [certificates[0]], at: Self.date)
        let earlier = Self.date.addingTimeInterval(-60)
        try ProvisioningStore(second).register(revoked: Array(certificates[..<2]), at: earlier)
        for other in [first, second, first] { _ = try ProvisioningStore(merged).merge(other) }
        let revoked = certificates[..<2]
        #expect(
            Set(try ProvisioningStore(merged).register())
                == Set(revoked.map { IssuanceRecord($0, revoked: earlier) }))
        let listed = try ProvisioningStore(merged).revocationLists(at: Self.date).flatMap(\.list.entries)
        #expect(Set(listed.map(\.serialNumber)) == Set(revoked.map(\.serialNumber)))
    }

    @Test("Merging keeps a final revocation rather than a hold, whatever their dates and order")
    func mergedHold() async throws {
        let source = try store("device")
        _ = try await Provisioner(source).run(try run(source, count: 1))
        let certificate = try source.certificate(try #require(try labels(source).first))
        let final = IssuanceRecord(certificate, revoked: Self.date, reason: .keyCompromise)
        for seconds in [-60.0, 0, 60] {
            let hold = IssuanceRecord(
                certificate, revoked: Self.date.addingTimeInterval(seconds), reason: .certificateHold)
            for (number, records) in [[hold, final], [final, hold]].enumerated() {
                let merged = ProvisioningStore(try store("merged \(seconds) \(number)"))
                for record in records { try merged.add(toRegister: [record]) }
                #expect(try merged.register() == [final])
            }
        }
    }

    @Test("A full register drops the records of valid certificates and keeps those of revoked ones")
    func fullRegister() async throws {
        let store = try store("device")
        _ = try await Provisioner(store).run(try run(store, count: 1))
        let certificate = try store.certificate(try #require(try labels(store).first))
        try ProvisioningStore(store).register(revoked: [certificate], at: Self.date)
        let issued = (0..<ProvisioningStore.mostRecords).map {
            IssuanceRecord(issuer: "00", serialNumber: String($0, radix: 16, uppercase: true))
        }
        try ProvisioningStore(store).add(toRegister: issued)
        let register = try ProvisioningStore(store).register()
        #expect(register.count == ProvisioningStore.mostRecords)
        #expect(register.first == IssuanceRecord(certificate, revoked: Self.date))
        #expect(register.last == issued.last && !register.contains(issued[0]))
    }

    @Test("A run continues an interrupted run, and generates nothing after a finished run")
    func interrupted() async throws {
        let store = try store("device")
        let interrupted = try run(store)
        var part = interrupted.request
        part.personCount = 1
        // A killed run leaves some of its identities and its record in the keychain.
        _ = try await Provisioner(store).run(
            part, from: interrupted.randomness)
        let rest = try await Provisioner(store).run(try run(store))
        #expect((rest.count, rest.skipped) == (18, 6))
        let serials = try store.identities().map(\.serialNumber)
        #expect(Set(serials).count == 24)

        let next = try await Provisioner(store).run(try run(store))
        #expect((next.count, next.skipped) == (0, 24))
    }

    @Test("A continued run without a date has the time of its first start, in whole seconds")
    func firstStart() throws {
        let store = try store("device")
        let request = ProvisioningRequest(personCount: 1, generations: 1, algorithm: .p256, date: Self.date)
        for now in [Self.date + 0.5, Self.date + 86_400] {
            let run = try ProvisioningRun(request, in: store, seed: nil, at: nil, now: now)
            #expect(run.request.date == Self.date)
        }
    }

    @Test("Generations start at given dates, and recovered keys are older than these")
    func generations() async throws {
        let store = try store("device")
        let starts = ["2024-12-03", "2021-12-04", "2018-11-03"].compactMap {
            try? Date($0, strategy: .iso8601.year().month().day())
        }
        _ = try await Provisioner(store).run(
            try run(store, count: 1) {
                $0.sets[0].starts = .at(starts.map { .at($0) })
                $0.sets[0].recovered = 2
            })
        let encryption = try store.identities().filter { $0.type(under: .keySharing2025) == .encryption }
        let dates = encryption.map(\.notBefore).sorted(by: >)
        #expect(dates.count == 5)
        #expect(dates.starts(with: starts))
        #expect(dates[3] < starts[2] && dates[4] < dates[3])
        #expect(try store.identities().count == 11)
    }

    private func count(_ request: ProvisioningRequest) throws -> Int {
        try ProvisioningRun(request, from: .system).identityCount
    }

    @Test("Types that the profile lacks, and unknown profiles, are rejected")
    func refusals() throws {
        var request = ProvisioningRequest(personCount: 1, types: [.device], date: Self.date)
        request.sets[0].profile = "derived-piv"
        #expect(throws: ProvisioningError(.typeNotInProfile, "")) { try count(request) }
        request.sets[0].profile = "nothing"
        #expect(throws: ProvisioningError(.noSuchProfile, "")) { try count(request) }
    }

    @Test("Generations and recovered keys from before 1900 are rejected")
    func tooOld() throws {
        var request = ProvisioningRequest(
            personCount: 1, types: [.encryption], generations: 42, date: Self.date)
        #expect(try count(request) == 42)
        request.sets[0].recovered = 1
        #expect(throws: ProvisioningError(.dateOutOfRange, "")) { try count(request) }
        request = ProvisioningRequest(personCount: 1, types: [.encryption], generations: 43, date: Self.date)
        #expect(throws: ProvisioningError(.dateOutOfRange, "")) { try count(request) }
    }

    @Test(
        "A description of a person with an invalid field is rejected with the field's position",
        arguments: [
            #"{"name": "Single"}"#, #"{"edipi": "123"}"#, #"{"email": "nobody"}"#, #"{"category": "x"}"#,
            #"[{"organization": "12345"}]"#, "[]", "{", "7", #"{"nam": "Dana Example"}"#,
            #"{"name": "DOE.JOHN.1234567890", "edipi": "1234567891"}"#, #"{"name": "Jo\u0001hn Doe"}"#,
            #"{"name": "Jo.hn Doe"}"#, #"{"name": "User, Test, Q"}"#, #"{"name": ", Test"}"#,
            #"{"name": "User,"}"#,
            #"{"name": "Te+st User"}"#, #"{"name": "Te=st User"}"#, #"{"name": "Te\"st User"}"#,
            #"{"name": "Te/st User"}"#, #"{"name": "1 2"}"#, #"{"name": "USER\\.TEST.1234567890"}"#,
            #"[{"edipi": "1234567890"}, {"name": "DOE.JOHN.1234567890"}]"#,
        ])
    func persons(json: String) throws {
        let error = #expect(throws: ProvisioningError(.malformedPerson, "")) {
            try PersonDescription.list(Array(json.utf8), source: "people.json")
        }
        #expect(error?.reason.hasPrefix("people.json:") == true)
    }

    @Test(
        "A name is parsed in either form, and the e-mail address that is derived from it contains only ASCII letters",
        arguments: [
            ("J. Edgar Hoover", "HOOVER.J.EDGAR.", "j.hoover."),
            ("VAN DYKE.JOHN.Q.1234567890", "VAN DYKE.JOHN.Q.1234567890", "john.vandyke.7890"),
            ("José Müller", "MÜLLER.JOSÉ.", "jose.muller."), ("User, Test", "USER.TEST.", "test.user."),
            ("VAN DYKE, JOHN Q.", "VAN DYKE.JOHN.Q.", "john.vandyke."),
            ("O'Neil,Ann-Marie", "O'NEIL.ANN-MARIE.", "annmarie.oneil."), ("明 李", "李.明.", "ming.li."),
        ])
    func names(name: String, commonName: String, address: String) throws {
        var random = Seed("1").generator()
        let person = try #require(TestPerson(name: name, using: &random))
        #expect(person.commonName.hasPrefix(commonName))
        #expect(person.emailAddress.hasPrefix(address))
    }

    @Test("An EDIPI may be written as a number in JSON")
    func numbers() throws {
        let list = try PersonDescription.list(Array(#"{"edipi": 1234567890}"#.utf8), source: "-")
        #expect(list.first?.edipi == "1234567890")
    }

    @Test("The parts of a request are numbered from 1 to their count")
    func parts() {
        for (number, count, isValid) in [
            (1, 1, true), (1, 3, true), (3, 3, true), (0, 3, false), (4, 3, false), (1, 0, false),
        ] {
            #expect((ProvisioningRequest.Shard(number: number, count: count) != nil) == isValid)
        }
    }

    @Test("Credentials that end before they start are rejected; expired generations end at the given date")
    func expiry() throws {
        let now = Date(timeIntervalSince1970: 1_790_000_000)
        var set = CredentialSet(starts: .at([.at(now)]))
        set.types = [.signature]
        set.expires = .at(now - 86_400)
        #expect(throws: ProvisioningError(.dateOutOfRange, "")) { try set.specs(at: now) }
        set.starts = .generations(2)
        let specs = try set.specs(at: now)
        #expect(specs.count == 2 && specs.first?.validity.upperBound == now - 86_400)
        #expect(specs.allSatisfy { $0.validity.lowerBound < $0.validity.upperBound })
    }

    @Test("An e-mail address has one at sign, and only visible ASCII characters")
    func addresses() throws {
        for (address, isValid) in [
            ("jane@example.com", true), ("jan\u{E9}@example.com", false), ("ja ne@example.com", false),
            ("jane@doe@example.com", false), ("jane", false),
        ] {
            var random = Seed("1").generator()
            var description = PersonDescription()
            description.email = address
            let person = Result { try description.person(using: &random) }
            #expect((try? person.get().emailAddress) == (isValid ? address : nil))
        }
    }

    @Test("A certificate names a person only if its common name contains an EDIPI")
    func certificates() throws {
        for (name, isPerson) in [("DOE.JANE.Q.1234567890", true), ("DOE.JANE.Q", false), ("Jane Doe", false)]
        {
            let template = CertificateTemplate(
                subject: try DistinguishedName([.init("CN", name)]), serialNumber: [1], notBefore: Self.date,
                notAfter: Self.date + 86_400)
            let certificate = try CertificateIssuer(
                selfSigned: template, privateKey: try PrivateKey.generate(.p256)
            ).certificate
            #expect((TestPerson(of: certificate) != nil) == isPerson)
        }
    }

    @Test("A name with an invisible character or too many bytes is rejected")
    func invisible() {
        var random = Seed("1").generator()
        // The names of a person have at most 40 bytes.
        for (count, isValid) in [(20, true), (21, false)] {
            let name = String(repeating: "A", count: 20) + " " + String(repeating: "B", count: count)
            #expect((TestPerson(name: name, using: &random) != nil) == isValid)
        }
        for (name, isValid) in [("Jane Doe", true), ("Jane\u{200D} Doe", false), ("Ja\u{AD}ne Doe", false)] {
            #expect((TestPerson(name: name, using: &random) != nil) == isValid)
        }
    }
}
