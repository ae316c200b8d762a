import CertificateReading
import DeviceSimulation
import Foundation
import KeySharing
import OpenSSL
import PersistentToken
import SecretMemory
import SimulatedKeychain
import TestSupport
import Testing

@testable import KeyShareProvider
@testable import TestCredentials

@Suite("Backups and devices with defective or unusable items", .timeLimit(.minutes(10)))
struct DefectiveSourceTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore
    private let first = PKCS12Samples.first
    private let second = PKCS12Samples.second
    private var backup: String { scratch.path("backup") }
    private var keyFile: String { scratch.path("key") }

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
    }

    private func otherStore() throws -> ProviderStore {
        try ProviderStore(try Device(folder: scratch.path("other")))
    }

    private func addPublished(_ identity: PKCS12Samples.Identity, to store: ProviderStore) throws {
        for outcome in try store.add([(identity.certificate, identity.key)]) {
            #expect(try outcome.isNew())
        }
    }

    @Test(
        "A backup of another device in which only registrations of tokens are transferable changes nothing",
        arguments: [false, true])
    func onlyRegistrations(hasOtherItems: Bool) throws {
        let other = try otherStore()
        try TokenStore(other).add(first.certificate, first.key, rule: .cryptoTokenKit)
        if hasOtherItems { try addPublished(first, to: other) }
        #expect(try other.backUp(to: backup, keyPath: keyFile) == (hasOtherItems ? 2 : 1))
        try addPublished(second, to: store)
        try TokenStore(store).add(second.certificate, second.key, rule: .cryptoTokenKit)
        let nothing = DeviceError(.nothingForThisDevice, path: "", "")
        #expect(throws: nothing) {
            try store.restore(from: backup, keyPath: keyFile, replacing: true)
        }
        #expect(throws: nothing) {
            try ProviderStore.recover(store.device, from: backup, keyPath: keyFile)
        }
        let label = second.certificate.label
        #expect(try store.identities().map(\.label) == [label])
        #expect(try TokenStore(store).registrations().map(\.label) == [label])
        #expect(try TokenStore(store).privateKey(label).matches(second.certificate))
    }

    @Test("A backup with an invalid certificate is rejected, and the keychain is unchanged")
    func invalidCertificate() throws {
        try addPublished(first, to: store)
        try store.keychain.add(
            NewItem.certificate([1, 2, 3], label: "A").with(accessGroup: App.tokenGroup))
        #expect(try store.backUp(to: backup) == 2)
        _ = try store.removeAll()
        try addPublished(second, to: store)
        let altered = DeviceError(.noBackup, path: "", "")
        #expect(throws: altered) { try store.restore(from: backup, replacing: true) }
        #expect(throws: altered) { try ProviderStore.recover(store.device, from: backup) }
        #expect(try store.identities().map(\.label) == [second.certificate.label])
        #expect(try TokenStore(store).registrations().isEmpty)
    }

    /// Calls `merge`, which must report one problem of this kind and add nothing.
    private func expectRefusal(
        of other: ProviderStore, _ kind: IntegrityProblem.Kind, _ location: SourceLocation = #_sourceLocation
    ) throws {
        var reported: [IntegrityProblem.Kind] = []
        #expect(throws: CancellationError.self, sourceLocation: location) {
            try ProvisioningStore(store).merge(other, report: { reported.append($0.kind) })
        }
        #expect(reported == [kind], sourceLocation: location)
        #expect(try store.keychain.identityAttributes().isEmpty, sourceLocation: location)
        #expect(try TokenStore(store).registrations().isEmpty, sourceLocation: location)
    }

    @Test(
        "A merge with a defective authority or identity reports its problem, and adds nothing",
        arguments: [IntegrityProblem.Kind.mismatch, .key, .certificate, .attributes],
        [App.authorityGroup, App.publishedGroup])
    func mergedIdentity(kind: IntegrityProblem.Kind, group: String) throws {
        let other = try otherStore()
        try addPublished(second, to: other)
        try TokenStore(other).add(second.certificate, second.key, rule: .cryptoTokenKit)
        let key = try (kind == .mismatch ? second.key : first.key).pkcs8()
        try other.keychain.add(
            NewIdentity(
                label: first.certificate.label,
                certificate: kind == .certificate ? [1, 2, 3] : first.certificate.der,
                privateKey: kind == .key ? SecretBytes([0]) : key,
                applicationTag: IdentitySummary(first.certificate).tag,
                notBefore: first.certificate.notBefore.addingTimeInterval(kind == .attributes ? 60 : 0),
                accessibility: ProviderStore.accessibility, accessGroup: group))
        try expectRefusal(of: other, kind)
    }

    @Test(
        "A merge with a defective token reports its problem, and adds nothing",
        arguments: [IntegrityProblem.Kind.mismatch, .key, .certificate, .attributes])
    func mergedToken(kind: IntegrityProblem.Kind) throws {
        let other = try otherStore()
        try addPublished(second, to: other)
        let label = kind == .attributes ? String(repeating: "A", count: 64) : first.certificate.label
        let key = try (kind == .mismatch ? second.key : first.key).pkcs8()
        let certificate: [UInt8] = kind == .certificate ? [1, 2, 3] : first.certificate.der
        try other.keychain.add(
            NewItem.key(kind == .key ? SecretBytes([0]) : key, label: label)
                .with(accessibility: TokenStore.accessibility, accessGroup: App.tokenGroup))
        try other.keychain.add(
            NewItem.certificate(certificate, label: label).with(accessGroup: App.tokenGroup))
        try expectRefusal(of: other, kind)
    }
}
