import KeyShareProtocol
import KeyShareWire
import SecretMemory
@testable import TestCredentials
import DeviceSimulation
import Foundation
import KeyShareConsumer
import KeySharing
import OpenSSL
import Synchronization
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

    @Test("The cost of an export is known only for a published item and for a row of the legacy list")
    func costs() async throws {
        let label = try #require(try await provision([.signature], generations: 1).first).label
        let provider = try provider()
        let types = ["com.rsa.pkcs-12"]
        _ = try await provider.contentState(of: label)
        _ = try await provider.exportCost(label, types: types)
        for other in ["nothing", "Encryption", "root", ""] {
            await #expect(throws: ProviderFailure(.notAvailable, ""), "\(other)") {
                try await provider.contentState(of: other)
            }
            await #expect(throws: ProviderFailure(.notAvailable, ""), "\(other)") {
                try await provider.exportCost(other, types: types)
            }
        }
    }

    @Test("A legacy request for types of the other mechanism fails differently from one for unknown types")
    func legacyTypes() async throws {
        let provider = try provider()
        let mixed = ProviderFailure(.mixedMechanisms, "")
        let unknown = ProviderFailure(.usage, "")
        for (type, failure) in [("purebred2025.zip.all", mixed), ("nonsense", unknown)] {
            await #expect(throws: failure) { try await provider.present([type], after: nil, limit: 9) }
            await #expect(throws: failure) { try await provider.exportCost("row", types: [type]) }
            await #expect(throws: failure) { try await provider.choose("row", types: [type]) }
        }
    }

    @Test("A page has at least one row, and a cursor outside the list has expired")
    func cursors() async throws {
        let count = try await provision([.signature], generations: 2).count
        let provider = try provider()
        let types = ["com.rsa.pkcs-12"]
        let rows = try await provider.present(types, after: nil, limit: 10).items.count
        for invalid in [-1, rows + 1] {
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await provider.present(types, after: String(invalid), limit: 10)
            }
        }
        for invalid in [-1, count + 1] {
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await provider.identityFacts(after: String(invalid), limit: 10)
            }
        }
        #expect(try await provider.present(types, after: String(rows), limit: 10).items.isEmpty)
        #expect(try await provider.present(types, after: nil, limit: 0).items.count == 1)
        let first = try await provider.identityFacts(after: nil, limit: 0)
        let root = try await provider.page(of: Item.root, after: nil, limit: 1)
        let generation = try #require(root.nextCursor?.split(separator: ":").first)
        let all = try await provider.page(of: Item.root, after: nil, limit: 1_000).items.count
        for cursor in ["\(generation):\(all + 1)", "\(generation):-1", "1", "\(generation):1:1"] {
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await provider.page(of: Item.root, after: cursor, limit: 1)
            }
        }
        #expect(try await provider.page(of: Item.root, after: "\(generation):\(all)", limit: 1).items.isEmpty)
        #expect(first.facts.count == 1 && first.nextCursor == "1")
    }

    @Test("A legacy export needs a listed row, and has an empty password only with such a profile")
    func legacyExports() async throws {
        let label = try #require(try await provision([.signature], generations: 1).first).label
        let archive = IdentitySelector.signature.zipType(under: .legacy)
        for (profile, isEmpty) in [(PKCS12Profile.modern, false), (PKCS12Profile(.emptyPassword), true)] {
            let passwords = Mutex<[SecretBytes]>([])
            let provider = try Provider(store, profile: profile, now: { [now] in now }) { password in
                passwords.withLock { $0.append(password) }
            }
            for type in ["com.rsa.pkcs-12", archive] {
                let row = try #require(try await provider.present([type], after: nil, limit: 9).items.first)
                _ = try await provider.choose(row.identifier, types: [type])
                for other in ["", type == archive ? label : "missing", row.identifier + "0"] {
                    await #expect(throws: ProviderFailure(.notAvailable, "")) {
                        try await provider.choose(other, types: [type])
                    }
                }
            }
            #expect(passwords.withLock { $0.map(\.isEmpty) } == [isEmpty, isEmpty])
        }
    }

    @Test("A certificate's chain ends at its root, and contains only authorities with the right name and key")
    func chains() async throws {
        _ = try await provision([.signature], generations: 1)
        let other = try ProviderStore(try Device(folder: scratch.path("other")))
        _ = try await Provisioner(other).run(
            ProvisioningRequest(
                personCount: 1, types: [.signature], generations: 1, algorithm: .p256, date: now),
            from: .system)
        _ = try ProvisioningStore(store).merge(other)
        let authorities = try store.authorityCertificates()
        for identity in try store.identities() {
            let certificate = try store.certificate(identity.label)
            let chain = try store.chain(of: certificate)
            #expect(chain.last?.isSelfSigned == true)
            #expect(Set(chain).count == chain.count && chain.count < authorities.count)
            for (issued, issuer) in zip([certificate] + chain, chain) {
                #expect(issued.issuer == issuer.subject)
                #expect(issued.authorityKeyIdentifier == issuer.subjectKeyIdentifier)
            }
        }
        for root in authorities.filter(\.isSelfSigned) { #expect(try store.chain(of: root).isEmpty) }
    }

    @Test("A file in a folder has content only if its identity is listed in the folder")
    func otherFolder() async throws {
        let label = try #require(try await provision([.signature], generations: 1).first).label
        let snapshot = try ProviderCatalogue(store, root: .all).snapshot()
        let exporter = Exporter(store, profile: .modern)
        let password = SecretBytes(utf8: "p")
        _ = try await exporter.content(
            of: .member(.signature, label: label), in: snapshot, password: password, now: now)
        for missing in [ItemIdentifier.member(.encryption, label: label), .identity(label: "missing")] {
            #expect(throws: ProviderFailure(.notAvailable, "")) {
                try exporter.madeContent(of: missing, in: snapshot, password: password)
            }
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await exporter.content(of: missing, in: snapshot, password: password, now: now)
            }
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
