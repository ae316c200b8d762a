import DeviceSimulation
import Foundation
import GRDB
import KeyOperations
import KeyShareProtocol
import KeyShareServer
import KeyShareWire
import KeySharing
import OpenSSL
import PersistentToken
import SecretMemory
import SimulatedKeychain
import Synchronization
import TestSupport
import TestVectors
import Testing

@testable import KeyShareProvider
@testable import TestCredentials

@Suite("Persistent token", .timeLimit(.minutes(10)))
struct TokenTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore
    private let tokens: TokenStore
    private let clock = TestClock()

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
        tokens = TokenStore(store)
    }

    /// The clock by which open keys expire. Tests advance it.
    private final class TestClock: Sendable {
        private let instant = Mutex(ContinuousClock.now)

        var now: ContinuousClock.Instant { instant.withLock(\.self) }
        func advance(_ duration: Duration) { instant.withLock { $0 = $0.advanced(by: duration) } }
    }

    /// Creates identities of the types, and registers them.
    private func register(
        _ types: [CredentialType] = [.signature], algorithm: KeyAlgorithm = .p256,
        rule: TokenKeyProperties.Rule = .cryptoTokenKit
    ) async throws -> [String] {
        let made = try await Provisioner(store).run(
            ProvisioningRequest(
                personCount: 1, types: types, generations: 1, algorithm: algorithm,
                date: Date(timeIntervalSince1970: 1_790_000_000)),
            from: .system)
        let labels = made.made.map(\.label)
        for label in labels {
            let identity = try store.identity(label)
            try tokens.add(identity.certificate, identity.privateKey, rule: rule)
        }
        return labels
    }

    private func keys(
        fault: TokenFault? = nil, _ change: (inout TokenExtension.Behaviour) -> Void = { _ in }
    ) -> TokenExtension {
        var behaviour = TokenExtension.Behaviour()
        change(&behaviour)
        return TokenExtension(
            store, behaviour: behaviour, fault: fault, now: { [clock] in clock.now }, sleep: { _ in })
    }

    private func signing(_ label: String, _ algorithm: SecKeyAlgorithm) -> TokenUse {
        TokenUse(objectID: label, algorithm, data: Array("abc".utf8))
    }

    private func message(_ label: String) -> TokenUse {
        signing(label, .ecdsaSignatureX962(.message, .sha256))
    }

    private func faulty(_ fault: TokenFault) throws -> FaultyToken {
        let token = FaultyToken(keys(fault: fault), sleep: { _ in })
        return try #require(token)
    }

    /// The error of a key use; fails the test if the key use succeeds.
    private func error(of keys: any KeyOpeningToken, _ use: TokenUse) async -> TokenError? {
        do throws(TokenError) {
            _ = try await keys.use(use)
            Issue.record("the use succeeded")
            return nil
        } catch {
            return error
        }
    }

    @Test("A signature by a registered key verifies with its certificate")
    func signs() async throws {
        let label = try #require(try await register().first)
        let signature = try await keys().use(message(label))
        let bytes = signature.withTransientArray { $0.map(\.self) }
        let key = try store.certificate(label).publicKey
        #expect(try key.verify(bytes, of: Array("abc".utf8), .ecdsaSignatureX962(.message, .sha256)))
    }

    @Test("Registering again replaces the registration, and removing it keeps the identity")
    func lifetime() async throws {
        let label = try #require(try await register().first)
        let identity = try store.identity(label)
        try tokens.add(identity.certificate, identity.privateKey, rule: .rfc5280)
        #expect(try tokens.registrations().map(\.label) == [label])
        #expect(try tokens.registrations().map(\.rule) == [.rfc5280])
        #expect(try tokens.remove(label))
        #expect(try !tokens.remove(label))
        #expect(try tokens.registrations().isEmpty)
        #expect(try store.identities().map(\.label) == [label])
        #expect(await error(of: keys(), message(label))?.obstacle == .notRegistered)
    }

    @Test(
        "Clearing removes all registrations, and a backup restores those of published identities"
    )
    func backup() async throws {
        let labels = try await register([.signature, .encryption])
        try tokens.add(PKCS12Samples.first.certificate, PKCS12Samples.first.key, rule: .cryptoTokenKit)
        _ = try store.backUp(to: scratch.path("backup"))
        _ = try store.removeAll()
        #expect(try tokens.registrations().isEmpty)
        _ = try store.restore(from: scratch.path("backup"))
        // Backups contain no keys that require a passcode.
        #expect(try tokens.registrations().map(\.label) == labels)
        #expect(try tokens.registrations().map(\.hasKey) == [true, true])
    }

    @Test("An unpublished registered identity is not listed by key sharing, and signs")
    func tokenOnly() async throws {
        let label = try #require(try await register().first)
        let identity = try store.identity(label)
        _ = try store.removeAll()
        try tokens.add(identity.certificate, identity.privateKey, rule: .cryptoTokenKit)
        #expect(try store.identities().isEmpty)
        _ = try await keys().use(message(label))
    }

    @Test("Each key prompts the user at most once in the 180 seconds after it is opened")
    func cache() async throws {
        let labels = try await register([.signature, .authentication])
        let keys = keys()
        _ = try await keys.use(message(labels[0]))
        try UserPresence(store.device).set(.deny)
        clock.advance(.seconds(179))
        _ = try await keys.use(message(labels[0]))
        #expect(await error(of: keys, message(labels[1]))?.obstacle == .userDenied)
        clock.advance(.seconds(1))
        #expect(await error(of: keys, message(labels[0]))?.obstacle == .userDenied)
        #expect(keys.openKeys == 0)
    }

    @Test("A key that expires is closed alone, and the others remain open")
    func expiry() async throws {
        let labels = try await register([.signature, .authentication])
        let token = keys()
        for label in labels {
            _ = try await token.use(message(label))
            clock.advance(.seconds(100))
        }
        _ = token.forgetStale()
        #expect(token.openKeys == 1)
        #expect(token.openedKey(for: message(labels[0])) == nil)
        #expect(token.openedKey(for: message(labels[1])) != nil)
    }

    @Test("All open keys are closed if the device's state cannot be read")
    func unreadableState() async throws {
        let label = try await register()[0]
        let token = keys()
        _ = try await token.use(message(label))
        #expect(token.openKeys == 1)
        _ = try scratch.write(Array("half-open\n".utf8), as: "device/state")
        #expect(token.forgetStale() == nil)
        #expect(token.openKeys == 0)
    }

    @Test("An open key does not bypass a fault that delays or rejects key uses")
    func openKeyWithFault() async throws {
        let label = try await register()[0]
        for fault in TokenFault.allCases {
            let token = keys(fault: fault)
            _ = try await token.use(message(label))
            #expect(token.openedKey(for: message(label)) != nil)
            let delays = Mutex<[Duration]>([])
            let created = FaultyToken(token) { delay in delays.withLock { $0.append(delay) } }
            let faulty = try #require(created)
            let isOpened = fault.changes.delay == .zero && fault.changes.refusal == nil
            #expect((faulty.openedKey(for: message(label)) != nil) == isOpened, "\(fault.name)")
            _ = try? await faulty.openKey(for: message(label), isUserPresent: true)
            #expect(delays.withLock(\.self) == (fault.changes.delay == .zero ? [] : [fault.changes.delay]))
        }
    }

    @Test("Only the fault that hides keys changes the keys in the lists of a token")
    func hiddenKeys() async throws {
        let label = try await register()[0]
        for fault in TokenFault.allCases {
            let token = try faulty(fault)
            let tokens = try await token.tokens(after: nil, limit: 10).entries
            let objects = try await token.tokenObjects(after: nil, limit: 10).objects
            #expect(
                tokens.first { $0.objectID == label }?.hasKey == !fault.changes.hidesKeys, "\(fault.name)")
            #expect(objects.first?.hasKey == !fault.changes.hidesKeys, "\(fault.name)")
        }
    }

    @Test("A registration with an unknown rule has the default rule")
    func unknownRule() async throws {
        let label = try await register(rule: .rfc5280)[0]
        for (tag, rule) in [("rfc5280", TokenKeyProperties.Rule.rfc5280), ("later", .cryptoTokenKit)] {
            let certificate = NewItem.certificate(
                try store.certificate(label).der, label: label, applicationTag: Array(tag.utf8))
            try store.keychain.replace([certificate.with(accessGroup: App.tokenGroup)])
            #expect(try tokens.registrations().map(\.rule) == [rule])
        }
    }

    @Test("Only open RSA keys of up to 2,048 bits and P-256 keys have a cost below the highest")
    func costs() async throws {
        let signing: [(KeyAlgorithm, SecKeyAlgorithm, OpenedTokenUse.Cost)] = [
            (.p256, .ecdsaSignatureX962(.message, .sha256), .low),
            (.p384, .ecdsaSignatureX962(.message, .sha384), .high),
            (.rsa(bits: 2048), .rsaSignaturePKCS1v15(.message, .sha256), .moderate),
            (.rsa(bits: 3072), .rsaSignaturePKCS1v15(.message, .sha256), .high),
        ]
        for (algorithm, signature, cost) in signing {
            let label = try await register(algorithm: algorithm)[0]
            let token = keys()
            let use = self.signing(label, signature)
            _ = try await token.use(use)
            #expect(token.openedKey(for: use)?.cost == cost)
        }
    }

    @Test("Registering nothing and removing nothing announce no change")
    func nothing() async throws {
        let notifications = try Notifications(device: store.device)
        var changes = try notifications.observe(.tokensChanged).makeAsyncIterator()
        let count = try tokens.changeCount()
        try tokens.add([], rule: .cryptoTokenKit)
        #expect(try tokens.remove("missing") == false)
        #expect(try tokens.changeCount() == count)
        let isChanged = Task { await changes.next() != nil }
        // The task ends without a notification only if it is cancelled.
        isChanged.cancel()
        #expect(await !isChanged.value)
    }

    @Test("Registering and removing a token are each announced")
    func announcements() async throws {
        let notifications = try Notifications(device: store.device)
        let label = try await register()[0]
        var changes = try notifications.observe(.tokensChanged).makeAsyncIterator()
        #expect(try tokens.remove(label))
        #expect(await changes.next() != nil)
        _ = try await register()
        #expect(await changes.next() != nil)
        #expect(try tokens.removeAll() == 1)
        #expect(await changes.next() != nil)
    }

    @Test("An altered key is reported as corrupted when it is used, and once by the check of the data")
    func alteredKey() async throws {
        let label = try await register()[0]
        let reference = try #require(try tokens.items(label).keys.first?.reference)
        let queue = try DatabaseQueue(path: store.device.folder + "/keychain/keychain.sqlite")
        try await queue.write { database in
            try database.execute(
                sql: "UPDATE item SET sealed = zeroblob(length(sealed)) WHERE id = ?", arguments: [reference])
        }
        #expect(await error(of: keys(), message(label))?.code == .corruptedData)
        #expect(try tokens.problems().isEmpty)
        let found = try store.check().problems
        #expect(found.count { $0.kind == .record } == 1)
        #expect(!found.contains { $0.kind == .key })
    }

    @Test("A list is read again after a registration, and a cursor outside the list has expired")
    func pages() async throws {
        let token = keys()
        for count in 1...2 {
            _ = try await register()
            #expect(try await token.tokens(after: nil, limit: 9).entries.count == count)
            #expect(try await token.tokenObjects(after: nil, limit: 9).objects.count == count)
        }
        let change = try tokens.changeCount()
        #expect(try await token.tokens(after: "\(change):2", limit: 9).entries.isEmpty)
        #expect(try await token.tokenObjects(after: "\(change):2", limit: 9).objects.isEmpty)
        for cursor in ["\(change):3", "\(change):-1", "\(change - 1):1", "1", ""] {
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await token.tokens(after: cursor, limit: 9)
            }
            await #expect(throws: ProviderFailure(.notAvailable, "")) {
                try await token.tokenObjects(after: cursor, limit: 9)
            }
        }
    }

    @Test("A key use whose algorithm is for another operation or key type is rejected, also as a message")
    func wrongAlgorithms() async throws {
        let label = try #require(try await register([.encryption], algorithm: .rsa(bits: 2048)).first)
        var use = signing(label, .rsaSignaturePKCS1v15(.message, .sha256))
        use.operation = .decrypt
        let mislabelled = use
        #expect(await error(of: keys(), mislabelled)?.obstacle == .wrongAlgorithm)
        #expect(throws: TokenError.self) { try keys().message(for: mislabelled) }
        let unsupported = TokenUse(
            objectID: label, .eciesEncryption(isCofactor: true, .sha256, hasVariableIV: false), data: [1])
        #expect(await error(of: keys(), unsupported)?.obstacle == .wrongAlgorithm)
        use.operation = .keyExchange
        let exchange = use
        #expect(await error(of: keys { $0.isLikeTheSample = true }, exchange)?.obstacle == .wrongAlgorithm)
        var long = TokenUse(
            objectID: label, .rsaEncryptionOAEP(.sha256), data: [UInt8](repeating: 1, count: 256))
        long.parameters.requestedSize = Wire.useDataLimit + 1
        #expect(await error(of: keys(), long)?.obstacle == .wrongLength)
        long.parameters.requestedSize -= 1
        #expect(await error(of: keys(), long)?.obstacle == .undecryptable)
    }

    @Test("The holder of the objects is empty if the certificates belong to several persons")
    func holders() async throws {
        _ = try await register()
        let one = try await keys().tokenObjects(after: nil, limit: 10)
        #expect(!one.holder.isEmpty)
        _ = try await register()
        #expect(try await keys().tokenObjects(after: nil, limit: 10).holder.isEmpty)
    }

    @Test("A lock, a restart, a change of registrations and the end of the provider close all keys")
    func closes() async throws {
        let labels = try await register([.signature, .authentication])
        let device = store.device
        let keys = keys()
        let closings: [() throws -> Void] = [
            {
                try device.lock()
                try device.unlock()
            },
            {
                try device.restart()
                try device.unlock()
            }, { _ = try tokens.remove(labels[1]) }, { keys.forget() },
        ]
        for close in closings {
            try UserPresence(device).set(.allow)
            _ = try await keys.use(message(labels[0]))
            try UserPresence(device).set(.deny)
            try close()
            #expect(await error(of: keys, message(labels[0]))?.obstacle == .userDenied)
        }
    }

    @Test("Key uses fail on a device that is locked, not yet unlocked, or without a passcode")
    func states() async throws {
        let label = try #require(try await register().first)
        let keys = keys()
        _ = try await keys.use(message(label))
        try store.device.lock()
        #expect(await error(of: keys, message(label))?.obstacle == .deviceLocked)
        #expect(await error(of: keys, message(label))?.code == .authenticationNeeded)
        try store.device.restart()
        #expect(await error(of: keys, message(label))?.obstacle == .deviceLocked)
        try store.device.unlock()
        _ = try await keys.use(message(label))
        try store.device.removePasscode()
        #expect(await error(of: keys, message(label))?.obstacle == .passcodeRemoved)
        #expect(await error(of: keys, message(label))?.code == .objectNotFound)
        #expect(try tokens.registrations().map(\.hasKey) == [false])
        try store.device.setPasscode()
        #expect(await error(of: keys, message(label))?.obstacle == .keyMissing)
    }

    @Test("The sample's token reports a lock and a denied prompt as a missing key")
    func sampleErrors() async throws {
        let label = try #require(try await register(algorithm: .rsa(bits: 2048)).first)
        let use = signing(label, .rsaSignaturePKCS1v15(.message, .sha256))
        let sample = keys { $0.isLikeTheSample = true }
        for answer in [UserPresence.Answer.deny, .cancel] {
            try UserPresence(store.device).set(answer)
            let hidden = await error(of: sample, use)
            #expect(hidden?.code == .objectNotFound)
            #expect(hidden?.status == .itemNotFound)
            #expect(hidden?.obstacle == (answer == .deny ? .userDenied : .userCanceled))
            #expect(await error(of: keys(), use)?.status == .userCanceled)
        }
        try store.device.lock()
        #expect(await error(of: sample, use)?.status == .itemNotFound)
    }

    @Test("The sample's token checks only the algorithm's name, and supports only RSA")
    func sampleAlgorithms() async throws {
        let label = try #require(try await register().first)
        let sample = keys { $0.isLikeTheSample = true }
        let curve = await error(of: sample, message(label))
        #expect(curve?.status == .parameter)
        #expect(curve?.reason.contains("does not support") == true)
        // An RSA algorithm is accepted even for an EC key, and fails when it is used.
        let rsa = await error(of: sample, signing(label, .rsaSignaturePKCS1v15(.message, .sha256)))
        #expect(rsa?.status == .parameter)
    }

    @Test("A key use that the key usage does not permit fails; without a key usage, the token's rule decides")
    func usage() async throws {
        let label = try #require(try await register([.encryption], algorithm: .rsa(bits: 2048)).first)
        let refused = await error(of: keys(), signing(label, .rsaSignaturePKCS1v15(.message, .sha256)))
        #expect(refused?.obstacle == .usageForbids)
        #expect(refused?.code == .badParameter)
        let sample = keys { $0.isLikeTheSample = true }
        _ = try await sample.use(signing(label, .rsaSignaturePKCS1v15(.message, .sha256)))
    }

    @Test("Data that cannot be decrypted is reported as corrupted, but the sample's token reports no error")
    func undecryptable() async throws {
        let label = try #require(try await register([.encryption], algorithm: .rsa(bits: 2048)).first)
        let use = TokenUse(
            objectID: label, .rsaEncryptionOAEP(.sha256), data: [UInt8](repeating: 1, count: 256))
        #expect(await error(of: keys(), use)?.code == .corruptedData)
        #expect(await error(of: keys { $0.isLikeTheSample = true }, use)?.status == .internalError)
        let fault = try #require(TokenFault(rawValue: "decrypt-without-error"))
        #expect(try await error(of: faulty(fault), use)?.code == .communicationError)
    }

    @Test("Each fault has its documented effect", arguments: TokenFault.allCases)
    func faults(fault: TokenFault) async throws {
        let labels = try await register([.signature, .authentication])
        let faulty = try faulty(fault)
        switch fault.name {
        case "cancel-looks-like-not-found":
            try UserPresence(store.device).set(.cancel)
            #expect(await error(of: faulty, message(labels[0]))?.code == .objectNotFound)
        case "stale-configuration":
            #expect(await error(of: faulty, message(labels[0]))?.obstacle == .notRegistered)
        case "foreground-timeout":
            #expect(await error(of: faulty, message(labels[0]))?.obstacle == .foregroundTimeout)
        case "certificate-without-key":
            #expect(await error(of: faulty, message(labels[0]))?.obstacle == .keyMissing)
            #expect(await error(of: faulty, message("unknown"))?.obstacle == .notRegistered)
            #expect(try await faulty.tokens(after: nil, limit: 9).entries.map(\.hasKey) == [false, false])
            #expect(
                try await faulty.tokenObjects(after: nil, limit: 9).objects.map(\.hasKey) == [false, false])
        case "key-of-another-certificate", "wrong-signature":
            let signature = try await faulty.use(message(labels[0])).withTransientArray { $0.map(\.self) }
            func verifies(_ label: String) throws -> Bool {
                try store.certificate(label).publicKey.verify(
                    signature, of: Array("abc".utf8), .ecdsaSignatureX962(.message, .sha256))
            }
            #expect(try !verifies(labels[0]))
            #expect(try verifies(labels[1]) == (fault.name == "key-of-another-certificate"))
            // The key is open now, which must not bypass the fault.
            let opened = try #require(faulty.openedKey(for: message(labels[0])))
            let again = try opened.computation().withTransientArray { $0.map(\.self) }
            #expect(
                try !store.certificate(labels[0]).publicKey.verify(
                    again, of: Array("abc".utf8), .ecdsaSignatureX962(.message, .sha256)))
        case "slow":
            _ = try await faulty.use(message(labels[0]))
            #expect(faulty.openedKey(for: message(labels[0])) == nil)
        case "decrypt-without-error": _ = try await faulty.use(message(labels[0]))
        default: Issue.record("the fault \(fault.name) has no test")
        }
        #expect(!fault.explanation.isEmpty)
    }
}
