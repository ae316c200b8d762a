import DeviceSimulation
import Foundation
import KeyOperations
import KeyShareProtocol
import KeyShareServer
import KeyShareWire
import KeySharing
import Logging
import OpenSSL
import PersistentToken
import SecretMemory
import SimulatedKeychain
import TestSupport
import TestVectors
import Testing

@testable import KeyShareClient
@testable import KeyShareProvider
@testable import TestCredentials

// One at a time: each test watches its device, and Linux permits a user 128 watchers (inotify(7)).
@Suite("Alias sharing on the wire", .serialized, .timeLimit(.minutes(10)))
struct AliasServiceTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore
    private let aliases: AliasStore
    private static let app = "com.example.mail"
    private static let signing = "Purebred Digital Signature Certificate"
    private static let authentication = "Purebred PIV Authentication Certificate"
    private static let date = Date(timeIntervalSince1970: 1_790_000_000)
    private static let algorithm = SecKeyAlgorithm.ecdsaSignatureX962(.message, .sha256)

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
        aliases = try AliasStore(store) { Self.date }
    }

    /// Creates identities, and installs all of them.
    private func install(_ types: [CredentialType] = [.signature], generations: Int = 1) async throws {
        _ = try await Provisioner(store).run(
            ProvisioningRequest(
                personCount: 1, types: types, generations: generations, algorithm: .p256, date: Self.date),
            from: .system)
        let added = try aliases.assignments(for: try store.identities(), includingOlder: true)
        try aliases.add(added, announcing: .updateCompleted)
    }

    /// Renews the identities like `provision --renew`.
    private func renew(fault: AliasFault? = nil) async throws {
        for group in try Renewal(of: store, types: nil, publication: .keySharing).groups {
            var request = group.request
            request.date = Self.date + 365 * 86_400
            _ = try await Provisioner(store).run(request, from: .system)
        }
        _ = try aliases.addRenewed(fault: fault)
    }

    /// Serves the aliases on a socket, and calls `body` with a client of the app.
    private func serving<Result>(
        _ fault: String? = nil, likeTheSample: Bool = false, app: String = app,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        _ body: (ProviderClient) async throws -> Result
    ) async throws -> Result {
        let tokens = TokenExtension(store, now: { ContinuousClock.now }, sleep: sleep)
        let correct = try AliasContentProvider(
            store, isLikeTheSample: likeTheSample, now: { Self.date }, sleep: sleep)
        var service: any AliasService = correct
        if let fault {
            service = FaultyAliases(
                correct, fault: try #require(AliasFault(rawValue: fault)), random: .seeded(Seed("7")))
        }
        let provider = try Provider(
            store, profile: .modern, token: tokens, aliases: service, now: { Self.date },
            putOnPasteboard: { _ in })
        let path = scratch.path("provider-\(UUID().uuidString.prefix(8)).sock")
        let server = try ProviderServer(
            path: path, service: provider, limits: .withoutDeadlines, logger: Logger(label: "test"))
        let running = Task { try await server.run() }
        defer { running.cancel() }
        return try await ProviderClient.withConnection(path: path, clientName: app, body)
    }

    private func columns(_ names: String...) async throws -> AliasTable {
        try await serving { try await $0.aliases(app: Self.app, columns: names) }
    }

    private func choose(_ alias: String?, _ client: ProviderClient) async throws -> AliasChoice {
        try await client.chooseAlias(AliasChoiceRequest(app: Self.app, alias: alias))
    }

    private func use(_ alias: String, _ data: [UInt8] = Array("abc".utf8)) -> TokenUse {
        TokenUse(objectID: "keychain:" + alias, Self.algorithm, data: data)
    }

    /// The obstacle with which a request fails; nil if it succeeds.
    private func obstacle(_ body: () async throws -> Void) async throws -> TokenRefusalReason? {
        do {
            try await body()
            return nil
        } catch let error as TokenError {
            guard let obstacle = error.obstacle else { throw error }
            return obstacle
        }
    }

    // MARK: - Queries

    @Test("A query returns the requested columns in the provider's order, and every entry")
    func query() async throws {
        try await install([.signature, .authentication], generations: 3)
        let all = try await columns("type", "certificate", "alias")
        #expect(all.columns == ["alias", "certificate", "type"])
        #expect(all.rows.count == 6)
        #expect(all.rows.map { $0[0] } == all.rows.map { $0[0] }.sorted())
        let labels = try all.rows.map { row in
            let der = try #require(Data(base64Encoded: row[1], options: .ignoreUnknownCharacters))
            #expect(row[1].hasSuffix("\n"))
            return try Certificate(der: Array(der)).label
        }
        #expect(Set(labels) == Set(try store.identities().map(\.label)))
        #expect(try await columns().columns.count == 3)
        #expect(try await columns("type").rows.allSatisfy { $0.count == 1 })
        // A page holds fewer rows with certificates than the list has.
        try await install([.signature], generations: 40)
        #expect(try await columns("certificate").rows.count > 40)
    }

    @Test("An empty KeyChain returns the columns without rows")
    func empty() async throws {
        let table = try await columns("alias", "type")
        #expect(table.columns == ["alias", "type"] && table.rows.isEmpty)
    }

    @Test("Unknown columns are an error, and are ignored like the sample")
    func unknownColumns() async throws {
        try await install()
        for names in [["Alias"], ["alias", "_id"], ["\u{202E}alias"]] {
            let failed = try await obstacle {
                try await serving { _ = try await $0.aliases(app: Self.app, columns: names) }
            }
            #expect(failed == .unknownColumn, "\(names)")
        }
        let sample = try await serving(likeTheSample: true) { client in
            [
                try await client.aliases(app: Self.app, columns: ["Alias"]),
                try await client.aliases(app: Self.app, columns: ["alias", "_id"]),
            ]
        }
        #expect(sample.map(\.columns) == [["type"], ["alias"]])
        #expect(sample.map(\.rows.count) == [0, 1])
        let null = try await serving(likeTheSample: true) { client in
            try await obstacle { _ = try await client.aliases(app: Self.app, columns: []) }
        }
        #expect(null == .nullProjection)
    }

    @Test(
        "A query without READ_ALIAS fails, and the user is not asked again after a decision",
        arguments: [
            (UserPresence.Answer.allow, AliasAccess.Permission.granted), (.deny, .denied),
            (.cancel, .undecided),
        ])
    func permission(answer: UserPresence.Answer, expected: AliasAccess.Permission) async throws {
        try await install()
        try UserPresence(store.device).set(answer)
        let failed = try await obstacle { _ = try await columns("alias") }
        #expect(failed == (answer == .allow ? nil : .permissionDenied))
        #expect(try AliasAccess(store.device).access(of: Self.app).permission == expected)
        // The decision is remembered, so another answer of the user changes nothing.
        try UserPresence(store.device).set(answer == .allow ? .deny : .allow)
        let again = try await obstacle { _ = try await columns("alias") }
        #expect(again == (answer == .deny ? .permissionDenied : nil))
    }

    @Test(
        "An argument over its limit is rejected, and an app's name contains only ASCII letters, digits and punctuation",
        arguments: [
            (AliasQueryRequest(app: String(repeating: "a", count: 256), columns: []), 5),
            (AliasQueryRequest(app: "a\u{0}b", columns: []), 5),
            (AliasQueryRequest(app: "a", columns: [String](repeating: "alias", count: 65)), 5),
            (AliasQueryRequest(app: "a", columns: [], cursor: String(repeating: "1", count: 256)), 5),
            (AliasQueryRequest(app: "\u{202E}a", columns: []), 11),
            (AliasQueryRequest(app: "", columns: []), 11),
            (AliasQueryRequest(app: "a", columns: [], cursor: "-1"), 11),
            (AliasQueryRequest(app: "a", columns: [], cursor: "99999999999999999999"), 11),
        ] as [(AliasQueryRequest, UInt16)])
    func badQueries(query: AliasQueryRequest, code: UInt16) async throws {
        let error = await #expect(throws: (any Error).self) {
            try await serving { client in
                _ = try await client.reply(to: .aliasQuery(query))
            }
        }
        #expect(
            code == 5 ? (error as? ProviderFailure)?.code == .refused : error is TokenError, "\(error as Any)"
        )
    }

    @Test("A choice with an argument over its limit is rejected")
    func badChoices() async throws {
        let long = String(repeating: "a", count: 256)
        for request in [
            AliasChoiceRequest(app: Self.app, alias: long), AliasChoiceRequest(app: Self.app, host: long),
            AliasChoiceRequest(app: Self.app, keyTypes: [long]),
            AliasChoiceRequest(app: Self.app, alias: "a\u{0}"),
            AliasChoiceRequest(app: Self.app, issuers: [[UInt8](repeating: 0x30, count: 4_097)]),
            AliasChoiceRequest(app: Self.app, issuers: [[UInt8]](repeating: [0x30], count: 65)),
        ] {
            let error = await #expect(throws: ProviderFailure.self) {
                try await serving { _ = try await $0.chooseAlias(request) }
            }
            #expect(error?.code == .refused)
        }
    }

    // MARK: - Choices and key uses

    @Test("A key signs only after the user granted it to the app, and the grant survives a restart")
    func grant() async throws {
        try await install()
        #expect(
            try await serving { client in try await obstacle { _ = try await client.use(use(Self.signing)) } }
                == .noKeyGrant)
        let choice = try await serving { try await choose(Self.signing, $0) }
        #expect(choice == AliasChoice(alias: Self.signing, reason: nil))
        let locked = try await serving { client in
            // The provider reads its password when it starts, so the device restarts afterwards.
            try store.device.restart()
            return [
                try await obstacle { _ = try await client.use(use(Self.signing)) },
                try await obstacle { _ = try await client.aliases(app: Self.app, columns: []) },
                try await obstacle { _ = try await choose(nil, client) },
            ]
        }
        #expect(locked == [.deviceLocked, .deviceLocked, .deviceLocked])
        try store.device.unlock()
        let certificate = try #require(try aliases.entries().first).certificate
        // A message of more than one frame is sent in parts.
        for data in [Array("abc".utf8), [UInt8](repeating: 7, count: 200_000)] {
            let signature = try await serving { try await $0.use(use(Self.signing, data)) }
            #expect(
                try signature.withTransientArray {
                    try certificate.publicKey.verify($0, of: data, Self.algorithm)
                })
        }
        let other = try await serving(app: "com.example.browser") { client in
            try await obstacle { _ = try await client.use(use(Self.signing)) }
        }
        #expect(other == .noKeyGrant)
        #expect(try AliasAccess(store.device).revoke(Self.signing, of: Self.app, at: Self.date))
        #expect(
            try await serving { client in try await obstacle { _ = try await client.use(use(Self.signing)) } }
                == .noKeyGrant)
    }

    @Test(
        "A choice without an alias has a reason",
        arguments: [
            (UserPresence.Answer.deny, signing, "user-denied"), (.cancel, signing, "user-canceled"),
            (.allow, "Unknown", "not-selectable"), (.allow, nil, "not-selectable"),
        ] as [(UserPresence.Answer, String?, String)])
    func refused(answer: UserPresence.Answer, alias: String?, reason: String) async throws {
        try await install([.signature, .authentication])
        try UserPresence(store.device).set(answer)
        let choice = try await serving { try await choose(alias, $0) }
        #expect(choice == AliasChoice(alias: nil, reason: reason))
        #expect(try AliasAccess(store.device).access(of: Self.app).keyGrants.isEmpty)
    }

    @Test(
        "The user selects another offered alias, and only that one is granted",
        arguments: [
            (signing, authentication, authentication, nil), (nil, signing, signing, nil),
            ("Unknown", signing, signing, nil), (signing, "Unknown", nil, "not-selectable"),
        ] as [(String?, String, String?, String?)])
    func selected(requested: String?, selection: String, granted: String?, reason: String?) async throws {
        try await install([.signature, .authentication])
        try UserPresence(store.device).set(.allow, selecting: selection)
        let choice = try await serving { try await choose(requested, $0) }
        #expect(choice == AliasChoice(alias: granted, reason: reason))
        #expect(
            try AliasAccess(store.device).access(of: Self.app).keyGrants == [granted].compactMap(\.self))
    }

    @Test("The chooser shows the offered aliases, and removes bidirectional control characters from the host")
    func dialog() async throws {
        try await install([.signature, .authentication])
        let presence = UserPresence(store.device)
        try presence.set(.ask)
        let changes = try Notifications(device: store.device).observe(.presenceAnswered)
        let choice = try await serving { client in
            async let choice = client.chooseAlias(
                AliasChoiceRequest(
                    app: Self.app, alias: Self.authentication, host: "mail\u{202E}.example", port: 443))
            for await _ in changes where try presence.status().questionsWaiting == 1 { break }
            let dialog = try #require(try presence.status().pendingDialogs.first).dialog
            #expect(dialog.kind == .chooseKey && dialog.app == Self.app)
            #expect(dialog.offered == [Self.signing, Self.authentication])
            #expect(dialog.preselected == Self.authentication)
            #expect(dialog.host == "mail.example" && dialog.port == 443)
            #expect(try presence.answer(.cancel) == 1)
            return try await choice
        }
        #expect(choice.reason == "user-canceled")
    }

    @Test("Key types and issuers filter the chooser, and without a match no dialog opens")
    func filters() async throws {
        try await install()
        try UserPresence(store.device).set(.deny)
        let certificate = try #require(try aliases.entries().first).certificate
        let issuer = certificate.issuer.der
        let root = try #require(try store.chain(of: certificate).last).subject.der
        let requests = [
            AliasChoiceRequest(app: Self.app, keyTypes: ["RSA"]),
            AliasChoiceRequest(app: Self.app, issuers: [[0x30, 0]]),
            AliasChoiceRequest(app: Self.app, keyTypes: ["EC", "RSA"], issuers: [issuer]),
            AliasChoiceRequest(app: Self.app, issuers: [root]),
        ]
        let reasons = try await serving { client in
            var reasons: [String?] = []
            for request in requests { reasons.append(try await client.chooseAlias(request).reason) }
            return reasons
        }
        #expect(reasons == ["no-match", "no-match", "user-denied", "user-denied"])
    }

    @Test("A key use with an unsuitable algorithm or a removed alias fails with the reason")
    func unsuitable() async throws {
        try await install()
        _ = try await serving { try await choose(Self.signing, $0) }
        var wrong = use(Self.signing)
        wrong.algorithm = SecKeyAlgorithm.rsaSignaturePKCS1v15(.message, .sha256).name
        let wrongUse = wrong
        let long = use(String(repeating: "a", count: 257))
        try await serving { (client) async throws in
            #expect(try await obstacle { _ = try await client.use(wrongUse) } == .wrongAlgorithm)
            #expect(try await obstacle { _ = try await client.use(use("Unknown")) } == .aliasNotFound)
            #expect(try await obstacle { _ = try await client.use(use("")) } == .aliasNotFound)
            let refused = await #expect(throws: ProviderFailure.self) { _ = try await client.use(long) }
            #expect(refused?.code == .refused)
        }
    }

    @Test("A key that is removed while a message is being signed does not sign it")
    func removedDuringUse() async throws {
        try await install()
        try await serving { (client) async throws in
            _ = try await choose(Self.signing, client)
            var beginning = use(Self.signing)
            beginning.data = []
            guard case .useBegun(let handle) = try await client.reply(to: .useBegin(beginning)) else {
                Issue.record("the message did not begin")
                return
            }
            #expect(try aliases.keyChain.remove([Self.signing]) == 1)
            let failed = try await obstacle { _ = try await client.reply(to: .useEnd(handle: handle)) }
            #expect(failed == .aliasNotFound)
        }
        #expect(try AliasAccess(store.device).access(of: Self.app).keyGrants.isEmpty)
    }

    // MARK: - Renewals and broadcasts

    @Test("A renewal replaces the key under the same alias, and the grant applies to the new key")
    func renewal() async throws {
        try await install([.signature, .encryption])
        let before = try aliases.entries()
        _ = try await serving { try await choose(Self.signing, $0) }
        try await renew()
        let after = try aliases.entries()
        #expect(after.map(\.alias) == [Self.signing, "Purebred Recovered #1", "Purebred Recovered #2"])
        #expect(after[0].label != before[0].label && after[1].label == before[1].label)
        let signature = try await serving { try await $0.use(use(Self.signing)) }
        let key = after[0].certificate.publicKey
        #expect(
            try signature.withTransientArray { try key.verify($0, of: Array("abc".utf8), Self.algorithm) })
        #expect(try Broadcasts(store.device).entries().last?.action == .updateCompleted)
    }

    @Test("A reset is announced before the entries are removed, and ends all grants")
    func reset() async throws {
        try await install()
        _ = try await serving { try await choose(Self.signing, $0) }
        #expect(try await aliases.reset(fault: nil, sleep: { _ in }) == 1)
        let actions = try Broadcasts(store.device).entries().suffix(2).map(\.action)
        #expect(actions == [.resetInitiated, .keychainChanged])
        #expect(try aliases.entries().isEmpty)
        #expect(try AliasAccess(store.device).access(of: Self.app).keyGrants.isEmpty)
    }

    // MARK: - Faults

    @Test("With permission-denied, every query fails although the user granted READ_ALIAS")
    func permissionFault() async throws {
        try await install()
        try AliasAccess(store.device).setPermission(.granted, of: Self.app)
        let failed = try await obstacle {
            try await serving("permission-denied") { _ = try await $0.aliases(app: Self.app, columns: []) }
        }
        #expect(failed == .permissionDenied)
    }

    @Test("With stale-alias, a query lists an alias that no chooser offers")
    func staleFault() async throws {
        try await install()
        let (table, choice) = try await serving("stale-alias") { client in
            let table = try await client.aliases(app: Self.app, columns: ["alias"])
            return (table, try await choose(table.rows.last?[0], client))
        }
        #expect(table.rows == [[Self.signing], [Self.signing + " (gone)"]])
        #expect(choice.reason == "not-selectable")
    }

    @Test("With truncated-list, a query returns fewer entries without an error")
    func truncatedFault() async throws {
        try await install([.signature], generations: 3)
        let table = try await serving("truncated-list") {
            try await $0.aliases(app: Self.app, columns: ["alias"])
        }
        #expect(table.rows.count < 3)
    }

    @Test("With null-key, KeyChain returns no key, and the grant remains")
    func nullKeyFault() async throws {
        try await install()
        let failed = try await serving("null-key") { client in
            _ = try await choose(Self.signing, client)
            return try await obstacle { _ = try await client.use(use(Self.signing)) }
        }
        #expect(failed == .keyMissing)
        #expect(try AliasAccess(store.device).access(of: Self.app).keyGrants == [Self.signing])
    }

    @Test("With grant-revoked, the first use works, the second has no grant, and the app is notified")
    func revokedFault() async throws {
        try await install()
        try await serving("grant-revoked") { (client) async throws in
            _ = try await choose(Self.signing, client)
            _ = try await client.use(use(Self.signing))
            #expect(try await obstacle { _ = try await client.use(use(Self.signing)) } == .noKeyGrant)
        }
        let last = try #require(try Broadcasts(store.device).entries().last)
        #expect(last.action == .keyAccessChanged && last.to == Self.app)
        #expect(last.extras[Broadcasts.aliasExtra] == Self.signing)
        #expect(last.extras[Broadcasts.accessibleExtra] == "false")
    }

    @Test("With alias-renamed, a renewal moves the key to another alias")
    func renamedFault() async throws {
        try await install()
        try await renew(fault: AliasFault(rawValue: "alias-renamed"))
        #expect(try aliases.entries().map(\.alias) == [Self.signing + " (renewed)"])
    }

    @Test("With same-alias-new-key, a renewal sends no broadcast")
    func silentFault() async throws {
        try await install()
        let (before, label) = (try Broadcasts(store.device).last(), try aliases.entries()[0].label)
        try await renew(fault: AliasFault(rawValue: "same-alias-new-key"))
        #expect(try Broadcasts(store.device).last() == before)
        #expect(try aliases.entries().map(\.alias) == [Self.signing])
        #expect(try aliases.entries()[0].label != label)
    }

    @Test("With removed-after-broadcast, the keys exist for a second after the announcement")
    func delayedFault() async throws {
        try await install()
        let removed = try await aliases.reset(fault: AliasFault(rawValue: "removed-after-broadcast")) {
            (time) async throws in
            #expect(time == .seconds(1))
            #expect(try Broadcasts(store.device).entries().last?.action == .resetInitiated)
            #expect(try aliases.entries().count == 1)
        }
        #expect(removed == 1)
    }

    @Test("A provider without aliases rejects requests about them, and does not list the feature")
    func withoutAliases() async throws {
        let provider = try Provider(
            store, profile: .modern, token: TokenExtension(store, now: { .now }, sleep: { _ in }),
            now: { Self.date }, putOnPasteboard: { _ in })
        let server = try ProviderServer(
            path: scratch.path("none.sock"), service: provider, limits: .withoutDeadlines,
            logger: Logger(label: "test"))
        let running = Task { try await server.run() }
        defer { running.cancel() }
        try await ProviderClient.withConnection(path: server.path) { client in
            #expect(!client.hasAliases)
            let query = ProviderRequest.aliasQuery(AliasQueryRequest(app: "a", columns: []))
            for request in [query, .aliasChoose(AliasChoiceRequest(app: "a")), .use(use("a"))] {
                let error = await #expect(throws: ProviderFailure.self) {
                    _ = try await client.reply(to: request)
                }
                #expect(error?.code == .unknownRequest)
            }
        }
    }
}
