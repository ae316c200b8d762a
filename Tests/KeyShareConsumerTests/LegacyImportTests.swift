import KeyShareProtocol
import KeyShareWire
import KeyShareClient
import KeyShareServer
import SecretMemory
import DeviceSimulation
import Foundation
import KeySharing
import OpenSSL
import SimulatedKeychain
import TestSupport
import Testing

@testable import KeyShareConsumer

@Suite("LegacyImport", .timeLimit(.minutes(10)))
struct LegacyImportTests {
    private let scratch: ScratchFolder
    private let store: ConsumerStore
    private let pasteboard: Pasteboard
    private let identity: TestIdentity
    private let provider: StandInProvider
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws {
        scratch = try ScratchFolder()
        let device = try Device(folder: scratch.path("device"))
        store = try ConsumerStore(device)
        pasteboard = try Pasteboard(device: device)
        identity = try TestIdentity("a")
        let content = try identity.file(password: "copied")
        let item = Item(
            identifier: "export/tmp.p12", filename: "tmp.p12", kind: .pkcs12, contentType: "com.rsa.pkcs-12",
            parent: Item.root, size: content.count, created: now)
        provider = StandInProvider(export: LegacyExport(item: item, content: content))
    }

    private func copy(_ text: String) throws {
        try pasteboard.write(SecretBytes(utf8: text), owner: .provider, now: now)
    }

    /// Imports the only row of the provider. The pasteboard is read `delay` seconds after the password was copied.
    private func run(
        at delay: TimeInterval = 0, typed: String? = nil,
        consent: @escaping @Sendable (PasteboardRequest) throws -> Bool = { _ in true }
    ) async throws -> ImportResult {
        let legacy = LegacyImport(
            Importer(store), pasteboard: pasteboard, now: { [now] in now.addingTimeInterval(delay) },
            consent: consent, askUser: { _ in typed.map { SecretBytes(utf8: $0) } })
        let request = try TypeRequest([], under: .legacy)
        let results = try await provider.serving { client in
            await legacy.importRow("tmp.p12", request, from: client)
        }
        return try #require(results.first)
    }

    @Test("A legacy import reads the password from the pasteboard after the user agrees")
    func pasted() async throws {
        try copy("copied")
        #expect(try await run().identity?.label == identity.certificate.label)
        #expect(try pasteboard.accesses().map(\.outcome) == [.allowed])
    }

    @Test("A legacy import fails if the user denies the paste")
    func denied() async throws {
        try copy("copied")
        let result = try await run(typed: "copied", consent: { _ in false })
        #expect((result.error as? PasteboardError)?.code == .denied)
        #expect(try store.identities().isEmpty)
        #expect(try pasteboard.accesses().map(\.outcome) == [.denied])
    }

    @Test("A legacy import asks the user for the password if the pasteboard is empty")
    func empty() async throws {
        #expect(try await run(typed: "copied").identity?.label == identity.certificate.label)
        #expect(try await run().error as? ImportError == ImportError(.noPassword, ""))
        #expect((try await run(typed: "mistyped").error as? PKCS12Error)?.code == .wrongPassword)
    }

    @Test("A legacy import asks the user for the password if the one on the pasteboard has expired")
    func expired() async throws {
        try copy("copied")
        #expect((try await run(at: 61).error as? PasteboardError)?.code == .expired)
        #expect(try await run(at: 61, typed: "copied").identity?.label == identity.certificate.label)
    }

    @Test("If the pasteboard contains something other than the password, the error names the pasteboard")
    func overwritten() async throws {
        try copy("something else")
        #expect(try await run().error as? ImportError == ImportError(.pasteboardHoldsOther, ""))
    }

    @Test("A legacy import rejects content that was copied while the user was being asked")
    func overwrittenMeanwhile() async throws {
        try copy("copied")
        let result = try await run(consent: { [pasteboard, now] _ in
            try pasteboard.write(SecretBytes(utf8: "new"), owner: .provider, now: now)
            return true
        })
        guard case .overwritten? = (result.error as? PasteboardError)?.code else {
            Issue.record("the import used other content: \(result.outcome)")
            return
        }
    }

    @Test("After two exports, only the password of the second one can be pasted")
    func secondReplacesFirst() async throws {
        try copy("first")
        try copy("copied")
        #expect(try await run().identity?.label == identity.certificate.label)
        try copy("copied")
        try copy("second")
        #expect(try await run().error as? ImportError == ImportError(.pasteboardHoldsOther, ""))
    }

    @Test(
        "A legacy import ends its grant after the read, whether the read succeeds or fails",
        arguments: [true, false])
    func endsGrant(succeeds: Bool) async throws {
        try copy("copied")
        var provider = provider
        if !succeeds {
            let large = Item(
                identifier: "export/tmp.p12", filename: "tmp.p12", kind: .pkcs12,
                contentType: "com.rsa.pkcs-12",
                parent: Item.root, size: 1_000, created: now)
            provider.export = LegacyExport(item: large, content: [UInt8](repeating: 7, count: 1_000))
        }
        let legacy = LegacyImport(
            Importer(store), pasteboard: pasteboard, now: { [now] in now }, consent: { _ in true },
            askUser: { _ in nil })
        var limits = ProviderClient.Limits()
        if !succeeds { limits.contentSize = 999 }
        try await provider.serving(limits: limits) { client in
            let request = try TypeRequest([], under: .legacy)
            let results = await legacy.importRow("tmp.p12", request, from: client)
            #expect((results.first?.error == nil) == succeeds)
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await client.read("export/tmp.p12", at: 0, length: 1)
            }
        }
    }

    @Test("A legacy export has no password service, and cannot be read after access is stopped")
    func noPasswordService() async throws {
        try await provider.serving { client in
            let export = try await client.choose("tmp.p12", types: ["com.rsa.pkcs-12"])
            await #expect(throws: ProviderFailure(.mixedMechanisms, "")) {
                try await client.fetchPassword(for: export.identifier)
            }
            try await client.stopAccessing(export.identifier)
            await #expect(throws: ProviderFailure.self) { try await client.readAll(export.identifier) }
        }
    }

    @Test("A legacy import of a file that is not in the list fails, and does not read the pasteboard")
    func missingRow() async throws {
        try copy("copied")
        let legacy = LegacyImport(
            Importer(store), pasteboard: pasteboard, now: { [now] in now }, consent: { _ in true },
            askUser: { _ in nil })
        let request = try TypeRequest([], under: .legacy)
        let results = try await provider.serving { client in
            await legacy.importRow("other.p12", request, from: client)
        }
        #expect(results.map { ($0.error as? RequestError)?.code } == [.noSuchItem])
        #expect(try pasteboard.accesses().isEmpty)
        #expect(try store.identities().isEmpty)
    }
}
