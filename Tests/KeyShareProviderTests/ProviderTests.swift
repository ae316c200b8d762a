import KeyShareProtocol
import KeyShareWire
import SecretMemory
@testable import TestCredentials
import DeviceSimulation
import Foundation
import KeyShareConsumer
import KeySharing
import OpenSSL
import TestSupport
import Testing

@testable import KeyShareProvider

@Suite("A provider over its keychain", .timeLimit(.minutes(10)))
struct ProviderTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore
    private let now = Date(timeIntervalSince1970: 1_790_000_000)

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
    }

    private func provision(
        _ types: [CredentialType] = [.encryption, .signature, .authentication], generations: Int = 2,
        algorithm: KeyAlgorithm = .p256
    ) async throws -> [IdentitySummary] {
        var random = SystemRandomNumberGenerator()
        let request = ProvisioningRequest(
            persons: [TestPerson(using: &random)], types: types, generations: generations,
            algorithm: algorithm,
            date: now)
        return try await Provisioner(store).run(request, from: .system).made
    }

    private func provider() throws -> Provider {
        try Provider(store, profile: .modern, now: { [now] in now }, putOnPasteboard: { _ in })
    }

    @Test("An exported file contains exactly the keychain's key and certificate")
    func exportIsFaithful() async throws {
        let made = try await provision()
        let provider = try provider()
        for identity in made {
            let bytes = try await provider.content(of: identity.label)
            let contents = try PKCS12.read(bytes, password: .text(try provider.password(for: identity.label)))
            let original = try store.identity(identity.label)
            #expect(contents.identities.map(\.certificate.der) == [original.certificate.der])
            #expect(contents.identities.map(\.friendlyName) == ["SKP"])
            #expect(try contents.identities[0].privateKey.pkcs8() == original.privateKey.pkcs8())
        }
    }

    @Test("Exports are cached, and a zip is exported again after the keychain changes")
    func exportsAreCached() async throws {
        let made = try await provision()
        let provider = try provider()
        let first = try await provider.content(of: made[0].label)
        #expect(try await provider.content(of: made[0].label) == first)
        #expect(try await provider.item(made[0].label).size == first.count)
        #expect(try await provider.item(made[1].label).size == nil)
        let zip = try await provider.content(of: "Unfiltered.zip")
        #expect(try await provider.content(of: "Unfiltered.zip") == zip)
        _ = try await provision([.signature], generations: 1)
        #expect(try await provider.content(of: "Unfiltered.zip") != zip)
    }

    @Test(
        "An identity that was removed after it was listed cannot be exported, neither as a file nor in a zip")
    func gone() async throws {
        let made = try await provision([.signature], generations: 1)
        let snapshot = try ProviderCatalogue(store, root: .all).snapshot()
        _ = try store.removeAll()
        let exporter = Exporter(store, profile: .modern)
        for item in [ItemIdentifier.identity(label: made[0].label), .zip(.all)] {
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await exporter.content(of: item, in: snapshot, password: SecretBytes(utf8: "p"), now: now)
            }
        }
    }

    @Test("The zip of an empty selection is an archive without entries")
    func emptyZip() async throws {
        let provider = try provider()
        #expect(try await provider.content(of: "Device.zip").count == 22)
    }

    @Test(
        "Folders and unknown items have no content",
        arguments: ["Encryption", "nothing", "root", ""])
    func noContent(identifier: String) async throws {
        let provider = try provider()
        await #expect(throws: ProviderFailure(.notAvailable, "")) {
            try await provider.content(of: identifier)
        }
    }

    @Test("A provider keeps its password across restarts")
    func passwordIsKept() async throws {
        let password = try provider().password(for: "x")
        #expect(password.count == 32)
        #expect(try provider().password(for: "x") == password)
    }

    @Test("The authorities of the test PKI are not published")
    func authoritiesAreNotPublished() async throws {
        let made = try await provision()
        #expect(Set(try store.identities().map(\.label)) == Set(made.map(\.label)))
        #expect(try store.authorityCertificates().count == TestAuthorityRole.allCases.count)
    }

    @Test("A later run issues certificates from the authorities of an earlier run")
    func authoritiesAreReused() async throws {
        _ = try await provision(generations: 2)
        _ = try await provision(generations: 1)
        #expect(try store.authorityCertificates().count == TestAuthorityRole.allCases.count)
    }

    @Test("Clearing removes the identities, the authorities and the service password")
    func clear() async throws {
        _ = try await provision()
        let password = try store.servicePassword.read()
        #expect(try store.removeAll() > 0)
        #expect(try store.identities().isEmpty)
        #expect(try ProvisioningStore(store).authority() == nil)
        #expect(try store.servicePassword.read() != password)
    }

    @Test("The consumer cannot see the provider's keychain")
    func consumerSeesNothing() async throws {
        _ = try await provision()
        let consumer = try ConsumerStore(try Device(folder: scratch.path("device")))
        #expect(try consumer.identities().isEmpty)
    }

    @Test(
        "Provisioned identities verify up to their root",
        arguments: [KeyAlgorithm.p256, .p384, .rsa(bits: 2048)])
    func provisionedVerify(algorithm: KeyAlgorithm) async throws {
        let made = try await provision(
            [.encryption, .signature, .authentication, .device], generations: 1, algorithm: algorithm)
        let authorities = try store.authorityCertificates()
        var verifier = TrustingVerifier(trustAnchors: authorities.filter(\.isSelfSigned))
        verifier.intermediates = authorities
        verifier.isStrict = true
        #expect(
            made.map { $0.type(under: .keySharing2025) } == [
                .encryption, .signature, .authentication, .device,
            ])
        for identity in made {
            let certificate = try store.identity(identity.label).certificate
            let verification = verifier.verify(certificate, at: now)
            #expect(verification.isValid, "\(verification.problems)")
        }
    }

    @Test("Generations are three years apart, and the newest starts the day before")
    func generations() async throws {
        let made = try await provision([.signature], generations: 3)
        let calendar = Calendar.utc
        let starts = made.map(\.notBefore)
        #expect(starts[0] == calendar.date(byAdding: .day, value: -1, to: now))
        #expect(starts[1] == calendar.date(byAdding: .year, value: -3, to: starts[0]))
        #expect(starts[2] == calendar.date(byAdding: .year, value: -6, to: starts[0]))
        for (index, identity) in made.enumerated() {
            #expect(try store.identity(identity.label).certificate.isValid(at: now) == (index == 0))
        }
    }
}
