import DeviceSimulation
import Foundation
import KeyOperations
import KeyShareProtocol
import KeyShareWire
import KeySharing
import OpenSSL
import PersistentToken
import SimulatedKeychain
import Synchronization
import TestSupport
import Testing

@testable import KeyShareProvider
@testable import TestCredentials

@Suite("Renewed and removed aliases", .timeLimit(.minutes(10)))
struct AliasRenewalTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore
    private let aliases: AliasStore
    private static let app = "com.example.mail"
    private static let date = Date(timeIntervalSince1970: 1_790_000_000)

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
        aliases = try AliasStore(store) { Self.date }
    }

    /// Creates signature identities, and installs all of them.
    private func install(generations: Int) async throws {
        _ = try await Provisioner(store).run(
            ProvisioningRequest(
                personCount: 1, types: [.signature], generations: generations, algorithm: .p256,
                date: Self.date),
            from: .system)
        let added = try aliases.assignments(for: try store.identities(), includingOlder: true)
        try aliases.add(added, announcing: .updateCompleted)
    }

    @Test("The newest of several renewals replaces the newest of several entries")
    func renewals() async throws {
        try await install(generations: 4)
        let before = try aliases.entries()
        let newest = try #require(before.max { $0.certificate.notBefore < $1.certificate.notBefore })
        for years in 1...4 {
            for group in try Renewal(of: store, types: nil, publication: .keySharing).groups {
                var request = group.request
                request.date = Self.date + Double(years) * 365 * 86_400
                _ = try await Provisioner(store).run(request, from: .system)
            }
        }
        let latest = try #require(try store.identities().max { $0.notBefore < $1.notBefore })
        #expect(try aliases.addRenewed(fault: nil) == 1)
        #expect(try aliases.addRenewed(fault: nil) == 0)
        let expected = before.map { [$0.alias, $0.alias == newest.alias ? latest.label : $0.label] }
        #expect(try aliases.entries().map { [$0.alias, $0.label] } == expected)
    }

    @Test("The renewed encryption identities of several persons get entries of their own")
    func renewedEncryption() async throws {
        var request = ProvisioningRequest(
            personCount: 3, types: [.encryption], generations: 1, algorithm: .p256, date: Self.date)
        _ = try await Provisioner(store).run(request, from: .system)
        let added = try aliases.assignments(for: try store.identities(), includingOlder: false)
        try aliases.add(added, announcing: .updateCompleted)
        for group in try Renewal(of: store, types: nil, publication: .keySharing).groups {
            request = group.request
            request.date = Self.date + 365 * 86_400
            _ = try await Provisioner(store).run(request, from: .system)
        }
        #expect(try aliases.addRenewed(fault: nil) == 3)
        #expect(Set(try aliases.entries().map(\.label)) == Set(try store.identities().map(\.label)))
        #expect(try aliases.entries().count == 6)
    }

    private func provider() throws -> AliasContentProvider {
        try AliasContentProvider(store, now: { Self.date }, sleep: { try await Task.sleep(for: $0) })
    }

    @Test("A query returns entries that were installed after an earlier query")
    func later() async throws {
        let (provider, query) = (try provider(), AliasQueryRequest(app: Self.app, columns: ["alias"]))
        for count in 1...2 {
            try await install(generations: 1)
            #expect(try await provider.aliases(query, limit: 10).rows.count == count)
        }
    }

    @Test("An entry that is removed while the chooser is open is not granted")
    func removedDuringChoice() async throws {
        try await install(generations: 1)
        let alias = try #require(try aliases.entries().first).alias
        let presence = UserPresence(store.device)
        try presence.set(.ask)
        let changes = try Notifications(device: store.device).observe(.presenceAnswered)
        let provider = try provider()
        async let choice = provider.chooseAlias(AliasChoiceRequest(app: Self.app, alias: alias))
        for await _ in changes where try presence.status().questionsWaiting == 1 { break }
        #expect(try aliases.keyChain.remove([alias]) == 1)
        #expect(try presence.answer(.allow) == 1)
        #expect(try await choice == AliasChoice(alias: nil, reason: "no-match"))
        #expect(try AliasAccess(store.device).access(of: Self.app).keyGrants.isEmpty)
    }

    @Test("An answer after the device was restarted grants neither the key nor READ_ALIAS")
    func restartDuringDialog() async throws {
        try await install(generations: 1)
        let alias = try #require(try aliases.entries().first).alias
        let presence = UserPresence(store.device)
        let access = try AliasAccess(store.device)
        let provider = try provider()
        try presence.set(.ask)
        try access.setPermission(.undecided, of: Self.app)
        for isQuery in [true, false] {
            try store.device.unlock()
            let changes = try Notifications(device: store.device).observe(.presenceAnswered)
            let request = Task {
                if isQuery {
                    _ = try await provider.aliases(AliasQueryRequest(app: Self.app, columns: []), limit: 10)
                } else {
                    _ = try await provider.chooseAlias(AliasChoiceRequest(app: Self.app, alias: alias))
                }
            }
            for await _ in changes where try presence.status().questionsWaiting == 1 { break }
            try store.device.restart()
            #expect(try presence.answer(.allow) == 1)
            let error = await #expect(throws: TokenError.self) { try await request.value }
            #expect(error?.obstacle == .deviceLocked)
        }
        let decisions = try access.access(of: Self.app)
        #expect(decisions.keyGrants.isEmpty && decisions.permission == .undecided)
    }

    @Test("A new app replaces another one without key grants, and at the limit the error names the limit")
    func appLimit() async throws {
        let access = try AliasAccess(store.device)
        for number in 1..<AliasAccess.mostApps { try access.setPermission(.denied, of: "app\(number)") }
        let provider = try provider()
        for app in ["z-first", "z-second"] {
            _ = try await provider.aliases(AliasQueryRequest(app: app, columns: ["alias"]), limit: 10)
        }
        try access.setPermission(.denied, of: "z-second")
        let error = await #expect(throws: TokenError.self) {
            _ = try await provider.aliases(AliasQueryRequest(app: Self.app, columns: ["alias"]), limit: 10)
        }
        #expect(
            error?.reason
                == "the user\u{2019}s decision cannot be stored: the device stores at most 4096 key grants and the permissions of 256 apps"
        )
    }

    @Test("If no entry matches, the user is not asked")
    func noQuestion() async throws {
        try await install(generations: 1)
        try UserPresence(store.device).set(.ask)
        let waits = Mutex(0)
        let provider = try AliasContentProvider(
            store, now: { Self.date }, sleep: { _ in waits.withLock { $0 += 1 } })
        let choice = try await provider.chooseAlias(AliasChoiceRequest(app: Self.app, keyTypes: ["RSA"]))
        #expect(choice == AliasChoice(alias: nil, reason: "no-match"))
        #expect(waits.withLock { $0 } == 0)
    }

    @Test("A key use with another operation, an unsuitable algorithm or a result over the limit is rejected")
    func unsuitable() async throws {
        try await install(generations: 1)
        let alias = try #require(try aliases.entries().first).alias
        _ = try AliasAccess(store.device).grant(alias, to: Self.app, at: Self.date)
        let provider = try provider()
        var use = TokenUse(
            objectID: "keychain:" + alias, .ecdsaSignatureX962(.message, .sha256), data: Array("abc".utf8))
        use.app = Self.app
        use.parameters.requestedSize = Wire.useDataLimit
        _ = try await provider.openKey(for: use)
        var (decryption, unsupported, long) = (use, use, use)
        decryption.operation = .decrypt
        unsupported.algorithm = SecKeyAlgorithm.rsaSignaturePKCS1v15(.message, .sha256).name
        long.parameters.requestedSize = Wire.useDataLimit + 1
        for (use, reason) in [
            (decryption, TokenRefusalReason.wrongAlgorithm), (unsupported, .wrongAlgorithm),
            (long, .wrongLength),
        ] {
            let error = await #expect(throws: TokenError.self) { _ = try await provider.openKey(for: use) }
            #expect(error?.obstacle == reason)
        }
    }

    @Test("A cursor past the end returns an empty page, because entries may have been removed")
    func pastTheEnd() async throws {
        try await install(generations: 2)
        let provider = try provider()
        for (cursor, count) in [("1", 1), ("2", 0), ("9", 0)] {
            let query = AliasQueryRequest(app: Self.app, columns: ["alias"], cursor: cursor)
            let page = try await provider.aliases(query, limit: 10)
            #expect(page.rows.count == count && page.nextCursor == nil)
        }
    }
}
