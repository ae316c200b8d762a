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
@Suite("The persistent token on the wire", .serialized, .timeLimit(.minutes(10)))
struct TokenServiceTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore
    private let tokens: TokenStore
    private static let message = Array("abc".utf8)

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
        tokens = TokenStore(store)
    }

    private func register(
        _ types: [CredentialType] = [.signature], algorithm: KeyAlgorithm = .p256
    ) async throws -> [String] {
        let made = try await Provisioner(store).run(
            ProvisioningRequest(
                personCount: 1, types: types, generations: 1, algorithm: algorithm,
                date: Date(timeIntervalSince1970: 1_790_000_000)),
            from: .system)
        for label in made.made.map(\.label) {
            let identity = try store.identity(label)
            try tokens.add(identity.certificate, identity.privateKey, rule: .cryptoTokenKit)
        }
        return made.made.map(\.label)
    }

    /// Serves the token on a socket, and calls `body` with the keys and the socket's path.
    private func serving<Result>(
        _ limits: ProviderServer.Limits = .withoutDeadlines, on name: String = "provider.sock",
        _ body: (TokenExtension, String) async throws -> Result
    ) async throws -> Result {
        let keys = TokenExtension(
            store, now: { ContinuousClock.now }, sleep: { try await Task.sleep(for: $0) })
        let provider = try Provider(
            store, profile: .modern, token: keys, now: { Date(timeIntervalSince1970: 1_790_000_000) },
            putOnPasteboard: { _ in })
        let path = scratch.path(name)
        let server = try ProviderServer(
            path: path, service: provider, limits: limits, logger: Logger(label: "test"))
        let running = Task { try await server.run() }
        defer { running.cancel() }
        return try await body(keys, path)
    }

    private func use(_ label: String, _ data: [UInt8] = message) -> TokenUse {
        TokenUse(objectID: label, .ecdsaSignatureX962(.message, .sha256), data: data)
    }

    private func verifies(_ signature: SecretBytes, _ label: String, _ data: [UInt8] = message) throws -> Bool
    {
        try signature.withTransientArray {
            try store.certificate(label).publicKey.verify(
                $0, of: data, .ecdsaSignatureX962(.message, .sha256))
        }
    }

    @Test("A consumer lists tokens page by page, and requests the token's status")
    func list() async throws {
        let labels = try await register([.signature, .encryption, .authentication])
        try await serving { keys, path in
            try await ProviderClient.withConnection(path: path) { client in
                let entries = try await client.tokens()
                #expect(entries.map(\.objectID) == labels)
                let certificate = try store.certificate(labels[0])
                #expect(entries[0].certificate == certificate.der)
                #expect(entries[0].label == certificate.subject.commonName)
                #expect(entries.map(\.keyBits) == [256, 256, 256])
                #expect(entries.map(\.hasKey) == [true, true, true])
                #expect(entries[0].properties.canSign && !entries[0].properties.canDecrypt)
                var cursor: String?
                for label in labels {
                    let page = try await keys.tokens(after: cursor, limit: 1)
                    #expect(page.entries.map(\.objectID) == [label])
                    cursor = page.nextCursor
                }
                #expect(cursor == nil)
                let status = try await client.tokenStatus()
                #expect(status.tokenCount == 3)
                #expect(status.isUnlocked && status.hasPasscode)
                #expect(status.openKeys == 0)
                #expect(status.deviceSerial.count == 16)
                _ = try await client.use(use(labels[0]))
                #expect(try await client.tokenStatus().openKeys == 1)
                try store.device.lock()
                let locked = try await client.tokenStatus()
                #expect(!locked.isUnlocked && locked.lockCount == status.lockCount + 1)
                #expect(locked.changeCount == status.changeCount)
            }
        }
    }

    @Test("A cursor from before a change and an invalid cursor are rejected")
    func staleCursor() async throws {
        let labels = try await register([.signature, .encryption])
        let keys = TokenExtension(store, now: { ContinuousClock.now }, sleep: { _ in })
        let cursor = try #require(try await keys.tokens(after: nil, limit: 1).nextCursor)
        _ = try tokens.remove(labels[1])
        for cursor in [cursor, "", ":", "x:y", "1:-1", "99999999999999999999:0"] {
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await keys.tokens(after: cursor, limit: 1)
            }
        }
    }

    @Test(
        "A key signs through the socket, and a long message is sent in parts",
        arguments: [3, 61_440, 61_441, 200_000])
    func sign(count: Int) async throws {
        let label = try #require(try await register().first)
        let data = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try await serving { _, path in
            let signature = try await ProviderClient.withConnection(path: path) { client in
                try await client.use(use(label, data))
            }
            #expect(try verifies(signature, label, data))
        }
    }

    @Test("A token's error reaches the client with its code and refusal reason")
    func failures() async throws {
        let label = try #require(try await register().first)
        try await serving { _, path in
            try await ProviderClient.withConnection(path: path) { client in
                func failure(_ use: TokenUse) async throws -> TokenError? {
                    do {
                        _ = try await client.use(use)
                        return nil
                    } catch let error as TokenError {
                        return error
                    }
                }
                var unknown = use(label)
                unknown.algorithm = "RSASignatureMessageMD5"
                #expect(try await failure(unknown)?.obstacle == .wrongAlgorithm)
                #expect(try await failure(use("AB"))?.obstacle == .notRegistered)
                var derivation = TokenUse(objectID: label, .ecdhKeyExchange(isCofactor: false, .sha256))
                derivation.parameters.requestedSize = .max
                #expect(try await failure(derivation)?.code == .badParameter)
                try UserPresence(store.device).set(.deny)
                let denied = try await failure(use(label))
                #expect(denied?.code == .canceledByUser && denied?.obstacle == .userDenied)
                #expect(denied?.reason == "the user declined")
                try store.device.lock()
                #expect(try await failure(use(label))?.obstacle == .deviceLocked)
            }
        }
    }

    @Test("A key use that waits for the user does not delay others, and ends with its connection")
    func presence() async throws {
        let labels = try await register([.signature, .authentication])
        let presence = UserPresence(store.device)
        var limits = ProviderServer.Limits.withoutDeadlines
        limits.keyUses.underWayPerProcess = 1
        try await serving(limits) { keys, path in
            let open = try await ProviderClient.connect(path: path)
            _ = try await open.use(use(labels[0]))
            try presence.set(.ask)
            let waiting = try await ProviderClient.connect(path: path)
            let questions = try Notifications(device: store.device).observe(.presenceAnswered)
            let asked = Task { try await waiting.use(use(labels[1])) }
            for await _ in questions where try presence.status().questionsWaiting == 1 { break }
            // The other key is already open and can be used in the meantime.
            #expect(try verifies(try await open.use(use(labels[0])), labels[0]))
            let withdrawals = try Notifications(device: store.device).observe(.presenceAnswered)
            await waiting.close()
            await #expect(throws: (any Error).self) { try await asked.value }
            for await _ in withdrawals where try presence.status().questionsWaiting == 0 { break }
            #expect(keys.openKeys == 1)
            await open.close()
        }
    }

    @Test("An answer closes the prompt, and the key use continues")
    func answer() async throws {
        let label = try #require(try await register().first)
        let presence = UserPresence(store.device)
        try presence.set(.ask)
        try await serving { _, path in
            let questions = try Notifications(device: store.device).observe(.presenceAnswered)
            let signature = Task {
                try await ProviderClient.withConnection(path: path) { try await $0.use(use(label)) }
            }
            for await _ in questions where try presence.status().questionsWaiting == 1 { break }
            #expect(try presence.answer(.allow) == 1)
            #expect(try verifies(try await signature.value, label))
        }
    }

    @Test("A connection can begin a limited number of messages, and unknown handles are rejected")
    func messages() async throws {
        let label = try #require(try await register().first)
        var limits = ProviderServer.Limits.withoutDeadlines
        limits.messages = 2
        try await serving(limits) { _, path in
            let beginning = use(label, [])
            try await ProviderClient.withConnection(path: path) { client in
                func ask(_ request: ProviderRequest) async throws -> ProviderReply {
                    try await client.reply(to: request)
                }
                #expect(try await ask(.useBegin(beginning)) == .useBegun(handle: 1))
                #expect(try await ask(.useBegin(beginning)) == .useBegun(handle: 2))
                await #expect(throws: ProviderFailure(.refused, "")) { try await ask(.useBegin(beginning)) }
                #expect(try await ask(.useCancel(handle: 1)) == .useCanceled)
                #expect(try await ask(.useCancel(handle: 9)) == .useCanceled)
                #expect(try await ask(.useUpdate(handle: 2, data: Self.message)) == .useUpdated(total: 3))
                for request: ProviderRequest in [.useUpdate(handle: 1, data: []), .useEnd(handle: 1)] {
                    await #expect(throws: ProviderFailure(.notAvailable, "")) { try await ask(request) }
                }
                guard case .useEnded(let signature) = try await ask(.useEnd(handle: 2)) else {
                    Issue.record("no signature")
                    return
                }
                #expect(try verifies(signature, label))
                var digest = beginning
                digest.algorithm = SecKeyAlgorithm.ecdsaSignatureX962(.digest, .sha256).name
                await #expect(throws: TokenError(.badParameter, "")) { try await ask(.useBegin(digest)) }
            }
        }
    }

    @Test("Stopping a provider ends its key uses, and its successor continues to serve registered tokens")
    func restarts() async throws {
        let label = try #require(try await register().first)
        try await serving { _, path in
            _ = try await ProviderClient.withConnection(path: path) { try await $0.use(use(label)) }
        }
        try await serving(on: "second.sock") { _, path in
            try await ProviderClient.withConnection(path: path) { client in
                _ = try await client.use(use(label))
                let identity = try store.identity(label)
                #expect(try tokens.remove(label))
                await #expect(throws: TokenError(.objectNotFound, "")) { try await client.use(use(label)) }
                try tokens.add(identity.certificate, identity.privateKey, rule: .cryptoTokenKit)
                #expect(try verifies(try await client.use(use(label)), label))
            }
        }
    }

    @Test("A connection of version 1 does not support tokens")
    func version1() async throws {
        try await serving { _, path in
            let client = try await ProviderClient.connect(path: path, versions: 1...1)
            #expect(!client.hasToken && client.welcome.requestLimit == Wire.requestLimit)
            await #expect(throws: ProviderFailure(.unknownRequest, "")) { try await client.tokens() }
            await client.close()
        }
    }
}
