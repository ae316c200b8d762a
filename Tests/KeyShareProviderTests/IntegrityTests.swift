import CertificateReading
import DeviceSimulation
import Foundation
import GRDB
import KeySharing
import OpenSSL
import SimulatedKeychain
import TestSupport
import Testing

@testable import KeyShareProvider
@testable import TestCredentials

@Suite("The check of the provider's data", .timeLimit(.minutes(10)))
struct IntegrityTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore
    private let date = Date(timeIntervalSince1970: 1_790_000_000)

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
    }

    @Test("A key that does not match its certificate is reported, and a backup with it is not restored")
    func mismatch() async throws {
        let (certificate, other) = (PKCS12Samples.first.certificate, PKCS12Samples.second.key)
        let added = try store.add([(certificate, other)])
        #expect(try added.map { try $0.isNew() } == [true])
        #expect(try store.check().problems.map(\.kind) == [.mismatch])
        _ = try store.backUp(to: scratch.path("backup"))
        _ = try store.removeAll()
        var reported: [IntegrityProblem.Kind] = []
        #expect(throws: CancellationError.self) {
            try store.restore(from: scratch.path("backup")) { reported.append($0.kind) }
        }
        #expect(throws: CancellationError.self) {
            try ProviderStore.recover(store.device, from: scratch.path("backup")) { reported.append($0.kind) }
        }
        #expect(reported == [.mismatch, .mismatch])
        #expect(try store.identities().isEmpty)
    }

    @Test("A label or a summary that does not match the certificate is reported")
    func attributes() throws {
        let (first, second) = (PKCS12Samples.first, PKCS12Samples.second)
        let summary = IdentitySummary(first.certificate)
        let (label, correct) = (first.certificate.label, summary.tag)
        func tag(_ facts: CertificateFacts, serialNumber: String) -> [UInt8] {
            IdentitySummary(
                label: label, serialNumber: serialNumber, notBefore: summary.notBefore, facts: facts,
                details: summary.details
            ).tag
        }
        let facts = CertificateFacts(keyUsage: .keyEncipherment, hasUTF8OtherName: true)
        for (label, tag, isReported) in [
            (label, correct, false), (label, tag(summary.facts, serialNumber: summary.serialNumber), false),
            (String(repeating: "A", count: 64), correct, true),
            (label, tag(facts, serialNumber: summary.serialNumber), true),
            (label, tag(summary.facts, serialNumber: "02"), true),
            (label, IdentitySummary(second.certificate).tag, true),
        ] {
            _ = try store.removeAll()
            try store.keychain.add(
                NewIdentity(
                    label: label, certificate: first.certificate.der, privateKey: try first.key.pkcs8(),
                    applicationTag: tag, notBefore: first.certificate.notBefore,
                    accessibility: ProviderStore.accessibility, accessGroup: App.publishedGroup))
            #expect(try store.check().problems.map(\.kind) == (isReported ? [.attributes] : []))
        }
    }

    @Test("An altered record is reported once, also if it is altered after the check of the records")
    func altered() async throws {
        let request = ProvisioningRequest(
            personCount: 1, types: [.signature], generations: 1, algorithm: .p256, date: date)
        let made = try await Provisioner(store).run(request, from: .system).made
        let label = try #require(made.first?.label)
        let attributes = try #require(try store.keychain.identityAttributes().first { $0.label == label })
        let earlier = try store.keychain.verifyIntegrity()
        #expect(earlier.isEmpty)
        let queue = try DatabaseQueue(path: store.device.folder + "/keychain/keychain.sqlite")
        try await queue.write { database in
            try database.execute(
                sql: "UPDATE item SET sealed = zeroblob(length(sealed)) WHERE id = ?",
                arguments: [attributes.id])
        }
        for found in [earlier, try store.keychain.verifyIntegrity()] {
            let problems = try store.check(after: found).problems.filter { $0.kind == .record }
            #expect(problems.map(\.label) == [label])
        }
    }

    @Test(
        "Altered and deleted records are damage, a lock is not, and recovery ends the grants for lost entries",
        arguments: [
            "UPDATE item SET sealed = zeroblob(length(sealed))", "DELETE FROM item WHERE class = 'keys'",
        ])
    func damage(statement: String) throws {
        let device = try Device(folder: scratch.path("other"))
        let (sample, date) = (PKCS12Samples.first, self.date)
        let added = try ProviderStore(device).add([(sample.certificate, sample.key)])
        #expect(added.count == 1)
        let entry = KeyChainEntry(alias: "a", label: "L", certificate: sample.certificate.der)
        try AndroidKeyChain(device) { date }.install([(entry, sample.key.pkcs8())])
        let access = try AliasAccess(device)
        try access.grant("a", to: "app", at: date)
        try device.restart()
        #expect(try ProviderStore.damage(of: device).isEmpty)
        try device.unlock()
        let queue = try DatabaseQueue(path: device.folder + "/keychain/keychain.sqlite")
        try queue.write { try $0.execute(sql: statement) }
        try queue.close()
        #expect(try !ProviderStore.damage(of: device).isEmpty)
        #expect(try access.access(of: "app").mayUse("a"))
        let recovery = try ProviderStore.recover(device, from: nil)
        #expect(recovery.folder == device.folder + "/keychain/damaged-1")
        #expect(try ProviderStore.damage(of: device).isEmpty)
        #expect(try access.access(of: "app").keyGrants.isEmpty)
    }
}
