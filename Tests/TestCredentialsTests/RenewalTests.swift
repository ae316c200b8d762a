import Diagnostics
import CertificateReading
@testable import TestCredentials
import DeviceSimulation
import Foundation
import KeySharing
import OpenSSL
import TestSupport
import Testing

import KeyShareProvider

@Suite("A renewal", .timeLimit(.minutes(10)))
struct RenewalTests {
    private static let date = Date(timeIntervalSince1970: 1_767_225_600)
    private static let later = Date(timeIntervalSince1970: 1_859_155_200)
    private let scratch: ScratchFolder
    private let store: ProviderStore

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
    }

    /// Generates one generation of a profile's types.
    private func provision(
        _ profile: String, _ person: TestPerson? = nil, at date: Date = Self.date,
        configure: (inout ProvisioningRequest) -> Void = { _ in }
    ) async throws {
        var request = ProvisioningRequest(
            persons: person.map { [$0] } ?? [], personCount: 1, generations: 1, algorithm: .p256, date: date)
        request.sets[0].profile = profile
        configure(&request)
        _ = try await Provisioner(store).run(
            ProvisioningRun(request, in: store, seed: Seed(profile), at: date, now: date))
    }

    private func jane() throws -> TestPerson {
        var person = PersonDescription()
        person.name = "DOE.JANE.Q.5557779001"
        person.email = "jane@example.com"
        person.organization = "4700"
        var random = Seed("1").generator()
        return try person.person(using: &random)
    }

    /// The credentials to renew, as short strings.
    private func credentials(_ changes: Renewal.Changes = .init()) throws -> [String] {
        try Renewal(of: store, types: nil, changing: changes).groups.flatMap(\.credentials).map {
            "\($0.types.map(\.rawValue).joined(separator: ",")) \($0.profile) \($0.policyArc) "
                + ($0.algorithm?.rawValue ?? "")
        }
    }

    @Test("A person's certificate of an unknown type is not renewed")
    func unknownType() throws {
        let key = try PrivateKey.generate(.p256)
        let template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", "DOE.JANE.Q.5557779001")]), serialNumber: [1],
            notBefore: Self.date, notAfter: Self.later)
        let certificate = try CertificateIssuer(selfSigned: template, privateKey: key).certificate
        #expect(TestPerson(of: certificate) != nil)
        #expect(IdentitySummary(certificate).type(under: .keySharing2025) == .unknown)
        _ = try store.add([(certificate: certificate, privateKey: key)])
        #expect(throws: ProvisioningError(.nothingToRenew, "")) { try Renewal(of: store, types: nil) }
    }

    @Test("A renewal finds each person without changing the name, and rejects an empty keychain")
    func persons() async throws {
        #expect(throws: ProvisioningError(.nothingToRenew, "")) { try Renewal(of: store, types: nil) }
        let jane = try jane()
        try await provision("dod", jane)
        let renewal = try Renewal(of: store, types: nil)
        #expect(renewal.groups.flatMap(\.persons) == [jane])
        #expect(renewal.groups.map(\.locations) == [.example])
        #expect(try credentials() == ["encryption,signature,authentication dod test p256"])
    }

    @Test("A renewal keeps profile, policies and addresses", arguments: CredentialProfile.names)
    func kinds(profile: String) async throws {
        let locations = PKILocations(base: "http://127.0.0.1:8080")
        let types = try #require(CredentialProfile.named(profile, at: Self.date)).types
        // Certificates without a person are not renewed.
        guard types != [.device] else { return }
        for arc in PolicyArc.allCases {
            try await provision(profile, try jane().with(edipi: "555777900\(arc == .dod ? 1 : 2)")) {
                $0.sets[0].policyArc = arc
                $0.locations = locations
            }
        }
        // A certificate with the current contents of a series is renewed with the series.
        let name = profile == "dod-2024" ? "dod" : profile
        let found = try credentials()
        #expect(found.count == 2)
        for arc in PolicyArc.allCases {
            #expect(found.contains("\(types.map(\.rawValue).joined(separator: ",")) \(name) \(arc) p256"))
        }
        #expect(try Renewal(of: store, types: nil).groups.map(\.locations) == [locations, locations])
    }

    @Test("A renewal includes only the requested types, and no addresses of a foreign authority")
    func typesAndAddresses() async throws {
        try await provision("dod", try jane()) { $0.locations = PKILocations(base: "http://127.0.0.1:8080") }
        let types = try Renewal(of: store, types: [.signature]).groups.flatMap(\.credentials).flatMap(\.types)
        #expect(types == [.signature])
        #expect(throws: ProvisioningError(.nothingToRenew, "")) { try Renewal(of: store, types: []) }
        let other = try ProviderStore(try Device(folder: scratch.path("other")))
        for summary in try store.identities() {
            let identity = try store.identity(summary.label)
            _ = try other.add([(certificate: identity.certificate, privateKey: identity.privateKey)])
        }
        #expect(try Renewal(of: other, types: nil).groups.map(\.locations) == [.example])
    }

    @Test(
        "A renewal copies the properties of the newest certificate of each type, unless a change is requested"
    )
    func newest() async throws {
        let jane = try jane()
        try await provision("dod", jane)
        try await provision("derived-piv", jane, at: Self.later) { $0.sets[0].algorithm = .p384 }
        #expect(
            try credentials() == [
                "encryption,signature dod test p256", "authentication derived-piv test p384",
            ])
        var changes = Renewal.Changes()
        changes.algorithm = .rsa(bits: 3072)
        changes.profile = "piv-i"
        #expect(try credentials(changes) == ["encryption,signature,authentication piv-i test rsa3072"])
    }

    @Test("The newest certificates determine a renewal, regardless of the order in which they were added")
    func order() async throws {
        let jane = try jane()
        try await provision("derived-piv", jane, at: Self.later) { $0.sets[0].algorithm = .p384 }
        try await provision("dod", jane)
        #expect(
            try credentials() == [
                "encryption,signature dod test p256", "authentication derived-piv test p384",
            ])
    }

    @Test(
        "A renewal has the mail address and the locations of the newest certificate",
        arguments: [true, false])
    func newestAddress(isNewestFirst: Bool) async throws {
        let addresses = ["jane@example.com", "jane.doe@example.org"]
        for index in isNewestFirst ? [1, 0] : [0, 1] {
            var person = try jane()
            person.givenEmailAddress = addresses[index]
            try await provision("dod", person, at: index == 0 ? Self.date : Self.later) {
                $0.sets[0].types = [index == 0 ? .signature : .encryption]
                $0.locations = PKILocations(base: "http://127.0.0.1:808\(index)")
            }
        }
        let group = try #require(try Renewal(of: store, types: nil).groups.first)
        #expect(group.persons.map(\.emailAddress) == [addresses[1]])
        #expect(group.locations == PKILocations(base: "http://127.0.0.1:8081"))
    }

    @Test("The renewal of a derived credential is a derived credential")
    func derived() async throws {
        try await provision("derived-piv", try jane()) {
            $0.sets[0].policyArc = .dod
            $0.sets[0].algorithm = .p384
        }
        let group = try #require(try Renewal(of: store, types: nil).groups.first)
        _ = try await Provisioner(store).run(
            ProvisioningRun(group.request, in: store, seed: nil, at: Self.later, now: Self.later))
        let certificates = try store.identities().sorted { $0.notBefore < $1.notBefore }.map {
            try store.certificate($0.label)
        }
        #expect(certificates.count == 2)
        let (old, new) = (certificates[0], certificates[1])
        #expect(new.notBefore > old.notAfter.addingTimeInterval(-366 * 86_400))
        #expect(CertificateShape(new) == CertificateShape(old))
        #expect(new.publicKey.type == old.publicKey.type)
        #expect(new.policies == old.policies && new.extendedKeyUsage == old.extendedKeyUsage)
        #expect(new.subjectAlternativeNames.first == old.subjectAlternativeNames.first)
    }
}
