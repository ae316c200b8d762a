import CertificateReading
import DeviceSimulation
import Foundation
import KeyOperations
import KeySharing
import OpenSSL
import PersistentToken
import Scenarios
import SecretMemory
import SimulatedKeychain
import TestSupport
import Testing

@testable import KeyShareProvider
@testable import TestCredentials

@Suite("Token-only identities", .timeLimit(.minutes(10)))
struct TokenOnlyTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore
    private let tokens: TokenStore
    private let date = Date(timeIntervalSince1970: 1_790_000_000)

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
        tokens = TokenStore(store)
    }

    private func request(_ types: [CredentialType] = [.signature, .encryption]) -> ProvisioningRequest {
        ProvisioningRequest(personCount: 1, types: types, generations: 1, algorithm: .p256, date: date)
    }

    private func provision(
        _ publication: IdentityPublication, _ types: [CredentialType] = [.signature, .encryption]
    ) async throws -> [String] {
        try await Provisioner(store, as: publication).run(request(types), from: .system).made.map(\.label)
    }

    /// Renews the identities like `provision --renew`, and returns the new labels.
    private func renew(_ publication: IdentityPublication) async throws -> [String] {
        var made: [String] = []
        for group in try Renewal(of: store, types: nil, publication: publication).groups {
            var request = group.request
            request.date = date + 365 * 86_400
            made += try await Provisioner(store, as: publication).run(request, from: .system).made.map(
                \.label)
        }
        return made
    }

    @Test(
        "A token-only identity is not listed by key sharing, is found among the tokens, and signs")
    func provisioned() async throws {
        let labels = try await provision(.tokenOnly)
        #expect(try store.identities().isEmpty)
        #expect(try ProviderCatalogue(store, root: .all).snapshot().identities.isEmpty)
        #expect(try tokens.unpublished().map(\.label) == labels)
        #expect(Set(try store.heldIdentities().map(\.label)) == Set(labels))
        let keys = TokenExtension(store, now: { .now }, sleep: { _ in })
        let use = TokenUse(
            objectID: labels[0], .ecdsaSignatureX962(.message, .sha256), data: Array("abc".utf8))
        let signature = try await keys.use(use).withTransientArray { $0.map(\.self) }
        let key = try store.heldCertificate(labels[0]).publicKey
        #expect(try key.verify(signature, of: use.data, .ecdsaSignatureX962(.message, .sha256)))
        #expect(try store.check().problems.isEmpty)
    }

    @Test("A token-only identity can be installed under an alias")
    func alias() async throws {
        let labels = try await provision(.tokenOnly, [.signature])
        let aliases = try AliasStore(store) { [date] in date }
        let added = try aliases.assignments(for: try store.heldIdentities(), includingOlder: true)
        try aliases.add(added, announcing: nil)
        #expect(try aliases.entries().map(\.label) == labels)
    }

    @Test(
        "Merging copies registrations with rules and keys, without duplicates, and publishes nothing"
    )
    func merged() async throws {
        let alone = try await provision(.tokenOnly, [.signature])
        let both = try await provision(.keySharing, [.encryption])
        let opened = try store.identity(both[0])
        try tokens.add(opened.certificate, opened.privateKey, rule: .rfc5280)
        let other = try ProviderStore(try Device(folder: scratch.path("other")))
        let first = try ProvisioningStore(other).merge(store)
        #expect(first == (added: 2, registered: 2))
        #expect(try TokenStore(other).registrations().map(\.label) == alone + both)
        #expect(try TokenStore(other).registrations().map(\.rule) == [.cryptoTokenKit, .rfc5280])
        #expect(try TokenStore(other).unpublished().map(\.label) == alone)
        let certificate = try other.heldCertificate(alone[0])
        #expect(try TokenStore(other).privateKey(alone[0]).matches(certificate))
        #expect(try ProvisioningStore(other).merge(store) == (added: 0, registered: 0))
        // The identity is published on that device and token-only on this one, and must remain token-only.
        let published = try ProviderStore(try Device(folder: scratch.path("published")))
        _ = try published.add([(certificate, try TokenStore(other).privateKey(alone[0]))])
        #expect(try ProvisioningStore(other).merge(published) == (added: 0, registered: 0))
        #expect(try TokenStore(other).unpublished().map(\.label) == alone)
    }

    @Test("After a restore from another device, merging still copies published identities and tokens")
    func mergedAfterRestore() async throws {
        let alone = try await provision(.tokenOnly, [.signature])
        let both = try await provision(.keySharing, [.encryption])
        let opened = try store.identity(both[0])
        try tokens.add(opened.certificate, opened.privateKey, rule: .rfc5280)
        let other = try ProviderStore(try Device(folder: scratch.path("other")))
        #expect(try other.device.restoreKeychain(from: store.device).restored == 0)
        #expect(try TokenStore(other).registrations().isEmpty)
        #expect(try ProvisioningStore(other).merge(store) == (added: 2, registered: 2))
        #expect(try other.identities().map(\.label) == both)
        #expect(try TokenStore(other).registrations().map(\.label) == alone + both)
    }

    @Test("Merging replaces a registration that lost its key by one with a key")
    func mergedLostKey() async throws {
        let label = try await provision(.tokenOnly, [.signature])[0]
        let other = try ProviderStore(try Device(folder: scratch.path("other")))
        _ = try ProvisioningStore(other).merge(store)
        _ = try other.keychain.delete(each: [
            KeychainQuery(.key, label: label, accessGroup: App.tokenGroup)
        ])
        #expect(try TokenStore(other).registrations().map(\.hasKey) == [false])
        #expect(try ProvisioningStore(other).merge(store).registered == 1)
        #expect(try TokenStore(other).registrations().map(\.hasKey) == [true])
    }

    @Test("A locked device merges identities without tokens, and rejects a merge with tokens")
    func mergedClosed() async throws {
        let published = try await provision(.keySharing, [.encryption])
        let other = try ProviderStore(try Device(folder: scratch.path("other")))
        try other.device.lock()
        #expect(try ProvisioningStore(other).merge(store) == (added: 1, registered: 0))
        _ = try await provision(.tokenOnly, [.signature])
        let third = try ProviderStore(try Device(folder: scratch.path("third")))
        try third.device.lock()
        let refused = #expect(throws: KeychainError.self) { try ProvisioningStore(third).merge(store) }
        #expect(refused?.code == .interactionNotAllowed)
        #expect(try third.identities().isEmpty && other.identities().map(\.label) == published)
    }

    @Test("A repeated run skips existing tokens and adds missing ones")
    func interrupted() async throws {
        func run() async throws -> Provisioner.Outcome {
            let run = try ProvisioningRun(
                request(), in: store, seed: Seed("7"), purpose: "provision token-only", at: date, now: date)
            return try await Provisioner(store, as: .tokenOnly).run(run)
        }
        let labels = try await run().made.map(\.label)
        #expect(try tokens.remove(labels[0]))
        let second = try await run()
        #expect(second.made.map(\.label) == [labels[0]] && second.skipped == 1)
        #expect(Set(try tokens.unpublished().map(\.label)) == Set(labels))
    }

    @Test("Clearing the keychain removes the certificates and keys of all tokens")
    func cleared() async throws {
        _ = try await provision(.tokenOnly)
        let before = try tokens.changeCount()
        _ = try store.removeAll()
        #expect(try tokens.registrations().isEmpty)
        #expect(try tokens.changeCount() > before)
        try expectNoItems()
    }

    @Test(
        "Renewal keeps a token-only identity token-only, and registers the successor of a published token")
    func renewed() async throws {
        let alone = try await provision(.tokenOnly, [.authentication])
        let published = try await provision(.keySharing)
        let both = try store.identity(published[0])
        try tokens.add(both.certificate, both.privateKey, rule: .rfc5280)
        let renewedAlone = try await renew(.tokenOnly)
        let renewed = try await renew(.keySharing)
        #expect(renewedAlone.count == 1 && renewed.count == 2)
        #expect(try tokens.registerRenewed() == 1)
        #expect(Set(try store.identities().map(\.label)) == Set(published + renewed))
        #expect(Set(try tokens.unpublished().map(\.label)) == Set(alone + renewedAlone))
        let followed = try tokens.registrations().filter { renewed.contains($0.label) }
        #expect(followed.map(\.rule) == [.rfc5280])
        #expect(
            followed.map { IdentitySummary($0.certificate).type(under: .keySharing2025) }
                == [IdentitySummary(both.certificate).type(under: .keySharing2025)])
        // Registered identities are not registered again.
        #expect(try tokens.registerRenewed() == 0)
    }

    @Test(
        "Restoring a backup without token keys removes token-only identities, and restores published ones"
    )
    func restored() async throws {
        let alone = try await provision(.tokenOnly)
        let published = try await provision(.keySharing, [.authentication])
        let both = try store.identity(published[0])
        try tokens.add(both.certificate, both.privateKey, rule: .rfc5280)
        _ = try store.backUp(to: scratch.path("backup"))
        _ = try store.restore(from: scratch.path("backup"), replacing: true)
        #expect(try tokens.registrations().map(\.label) == published)
        #expect(try tokens.registrations().map(\.rule) == [.rfc5280])
        #expect(try tokens.registrations().map(\.hasKey) == [true])
        #expect(try !tokens.remove(alone[0]))
        #expect(try store.check().problems.isEmpty)
    }

    @Test("Recovering a damaged keychain keeps only the tokens whose identities are in the backup")
    func recovered() async throws {
        _ = try await provision(.tokenOnly)
        let published = try await provision(.keySharing, [.authentication])
        let both = try store.identity(published[0])
        try tokens.add(both.certificate, both.privateKey, rule: .cryptoTokenKit)
        _ = try store.backUp(to: scratch.path("backup"))
        _ = try ProviderStore.recover(store.device, from: scratch.path("backup"))
        let mended = TokenStore(try ProviderStore(store.device))
        #expect(try mended.registrations().map(\.label) == published)
        #expect(try mended.registrations().map(\.hasKey) == [true])
        _ = try ProviderStore.recover(store.device, from: nil)
        let empty = TokenStore(try ProviderStore(store.device))
        #expect(try empty.registrations().isEmpty)
    }

    @Test(
        "Keys without a certificate and wrong keys are reported as problems, and reconciling removes keys without a certificate"
    )
    func dangling() async throws {
        let label = try await provision(.tokenOnly, [.signature])[0]
        let other = String(repeating: "A", count: 64)
        let key = NewItem.key(try PrivateKey.generate(.p256).pkcs8(), label: other)
        try store.keychain.add(
            key.with(accessibility: TokenStore.accessibility, accessGroup: App.tokenGroup))
        #expect(try store.check().problems.map(\.label) == [other])
        #expect(try store.check().problems.map(\.kind) == [.mismatch])
        try tokens.reconcile()
        #expect(try store.check().problems.isEmpty)
        #expect(try tokens.registrations().map(\.label) == [label])
        try store.keychain.replace([
            NewItem.key(try PrivateKey.generate(.p256).pkcs8(), label: label)
                .with(accessibility: TokenStore.accessibility, accessGroup: App.tokenGroup)
        ])
        #expect(
            try store.check().problems.map(\.reason) == ["the token's key does not match the certificate"])
        #expect(try tokens.remove(label))
        try expectNoItems()
    }

    @Test("A locked device rejects new tokens and stores nothing")
    func locked() async throws {
        try store.device.lock()
        let closed = #expect(throws: KeychainError.self) { try tokens.requireOpen() }
        #expect(closed?.code == .interactionNotAllowed)
        let refused = await #expect(throws: KeychainError.self) {
            _ = try await provision(.tokenOnly, [.signature])
        }
        #expect(refused?.code == .interactionNotAllowed)
        try expectNoItems()
    }

    private func expectNoItems() throws {
        for itemClass in [ItemClass.certificate, .key] {
            let error = #expect(throws: KeychainError.self) {
                try store.keychain.copyMatching(KeychainQuery(itemClass, accessGroup: App.tokenGroup))
            }
            #expect(error?.code == .itemNotFound)
        }
    }
}
