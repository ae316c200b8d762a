import DeviceSimulation
import Foundation
import KeyShareProtocol
import KeySharing
import KeyShareServer
import KeyShareWire
import OpenSSL
import PersistentToken
import SecretMemory
import TestSupport
import Testing

@testable import KeyShareProvider
@testable import TestCredentials

@Suite("Logins to the persistent token", .timeLimit(.minutes(10)))
struct TokenGateTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore
    private let device: Device

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
        store = try ProviderStore(device)
    }

    private func register(_ types: [CredentialType]) async throws -> [String] {
        let made = try await Provisioner(store).run(
            ProvisioningRequest(
                personCount: 1, types: types, generations: 1, algorithm: .p256,
                date: Date(timeIntervalSince1970: 1_790_000_000)),
            from: .system)
        for label in made.made.map(\.label) {
            let identity = try store.identity(label)
            try TokenStore(store).add(identity.certificate, identity.privateKey, rule: .cryptoTokenKit)
        }
        return made.made.map(\.label)
    }

    private func gate(_ mode: TokenLoginMode, asksAlways: Bool = false) -> TokenGate {
        var behaviour = TokenGate.Behaviour()
        behaviour.mode = mode
        behaviour.asksAlways = asksAlways
        let keys = TokenKeys(store, now: { ContinuousClock.now }, sleep: { _ in })
        return TokenGate(keys, behaviour: behaviour, presenceTimeout: .zero, sleep: { _ in })
    }

    private func passcode(_ text: String = DevicePasscode.initial) -> TokenLogin {
        .passcode(TokenLogin.Passcode(SecretBytes(utf8: text)))
    }

    private func use(_ label: String, ticket: [UInt8]) -> TokenUse {
        TokenUse(
            objectID: label, .ecdsaSignatureX962(.message, .sha256),
            parameters: KeyOperationParameters(ticket: ticket), data: Array("abc".utf8))
    }

    @Test(
        "A key use with a ticket skips the prompt, and one without a ticket shows it",
        arguments: TokenLoginMode.allCases)
    func ticket(mode: TokenLoginMode) async throws {
        let label = try await register([.signature])[0]
        let gate = gate(mode)
        let ticket = try await gate.logIn(passcode()).ticket
        #expect(ticket.count == TokenLoginState.ticketLength)
        try UserPresence(device).set(.deny)
        let refusal = try await obstacle { _ = try await gate.openKey(for: use(label, ticket: [])) }
        #expect(refusal == .userDenied)
        #expect(gate.openedKey(for: use(label, ticket: ticket)) == nil)
        let computation = try await gate.openKey(for: use(label, ticket: ticket))
        #expect(try !computation().isEmpty)
        #expect(gate.openedKey(for: use(label, ticket: ticket)) != nil)
    }

    @Test("A key that was opened before the device was locked computes nothing afterwards")
    func lockedBeforeComputation() async throws {
        let label = try await register([.signature])[0]
        let gate = gate(.pin)
        let ticket = try await gate.logIn(passcode()).ticket
        let computation = try await gate.openKey(for: use(label, ticket: ticket))
        let opened = try #require(gate.openedKey(for: use(label, ticket: ticket)))
        try device.lock()
        #expect(try await obstacle { _ = try computation() } == .deviceLocked)
        #expect(try await obstacle { _ = try opened.computation() } == .deviceLocked)
    }

    @Test("An invented ticket, or one from before a lock or a restart, is rejected")
    func staleTicket() async throws {
        let label = try await register([.signature])[0]
        let gate = gate(.pin)
        let made = [UInt8](repeating: 7, count: TokenLoginState.ticketLength)
        #expect(
            try await obstacle { _ = try await gate.openKey(for: use(label, ticket: made)) } == .notLoggedIn)
        for close in [{ try device.lock() }, { try device.restart() }] {
            let ticket = try await gate.logIn(passcode()).ticket
            _ = try await gate.openKey(for: use(label, ticket: ticket))
            try close()
            try device.unlock()
            #expect(gate.openedKey(for: use(label, ticket: ticket)) == nil)
            let refusal = try await obstacle { _ = try await gate.openKey(for: use(label, ticket: ticket)) }
            #expect(refusal == .notLoggedIn)
        }
        // A later login does not make the tickets of an earlier one valid again.
        let early = try await gate.logIn(passcode()).ticket
        try device.lock()
        try device.unlock()
        let late = try await gate.logIn(passcode()).ticket
        _ = try await gate.openKey(for: use(label, ticket: late))
        // The key is open, and the wrong ticket does not use it.
        for wrong in [early, made] {
            #expect(gate.openedKey(for: use(label, ticket: wrong)) == nil)
            let refusal = try await obstacle { _ = try await gate.openKey(for: use(label, ticket: wrong)) }
            #expect(refusal == .notLoggedIn)
        }
        #expect(gate.openedKey(for: use(label, ticket: late)) != nil)
        // Another provider issues its own tickets.
        let ticket = try await gate.logIn(passcode()).ticket
        let other = self.gate(.pin)
        #expect(
            try await obstacle { _ = try await other.openKey(for: use(label, ticket: ticket)) }
                == .notLoggedIn)
    }

    @Test(
        "Three wrong passcodes lock the login by passcode in every login mode",
        arguments: TokenLoginMode.allCases)
    func wrongPasscode(mode: TokenLoginMode) async throws {
        let gate = gate(mode)
        for (left, expected) in [
            (2, TokenRefusalReason.wrongPasscode), (1, .wrongPasscode), (0, .passcodeLocked),
        ] {
            #expect(try await obstacle { _ = try await gate.logIn(passcode("1")) } == expected)
            #expect(try await gate.logIn(.state).triesLeft == left)
        }
        #expect(try await obstacle { _ = try await gate.logIn(passcode()) } == .passcodeLocked)
    }

    @Test(
        "A login ends when the passcode is replaced, and when it is removed and set again",
        arguments: TokenLoginMode.allCases)
    func changedPasscode(mode: TokenLoginMode) async throws {
        let changes: [(TokenGateTests) throws -> Void] = [
            { try DevicePasscode($0.device).set(SecretBytes(utf8: DevicePasscode.initial)) },
            { test in
                try test.device.removePasscode()
                try test.device.setPasscode()
            },
        ]
        for change in changes {
            let label = try await register([.signature])[0]
            let gate = gate(mode)
            let ticket = try await gate.logIn(passcode()).ticket
            _ = try await gate.openKey(for: use(label, ticket: ticket))
            try change(self)
            // Removing the passcode also removes the key of the first identity, so the ticket is tried with a new one.
            let other = try await register([.authentication])[0]
            for label in [label, other] {
                #expect(gate.openedKey(for: use(label, ticket: ticket)) == nil)
                let refusal = try await obstacle {
                    _ = try await gate.openKey(for: use(label, ticket: ticket))
                }
                #expect(refusal == .notLoggedIn)
            }
        }
    }

    @Test(
        "A login fails if the device is locked while the user is asked, even if it is unlocked again",
        arguments: [false, true])
    func lockedDuringLogin(isUnlocked: Bool) async throws {
        // The closure is called while the user takes time to answer.
        try UserPresence(device).set(.allow, delayMilliseconds: 1)
        let keys = TokenKeys(store, now: { ContinuousClock.now }, sleep: { _ in })
        let gate = TokenGate(keys, behaviour: TokenGate.Behaviour(), presenceTimeout: .zero) { [device] _ in
            try device.lock()
            if isUnlocked { try device.unlock() }
        }
        #expect(try await obstacle { _ = try await gate.logIn(.presence) } == .deviceLocked)
    }

    @Test(
        "The result of a login by presence depends on the user's answer",
        arguments: [
            (UserPresence.Answer.deny, TokenRefusalReason.userDenied), (.cancel, .userCanceled),
            (.ask, .userTimedOut),
        ])
    func presence(answer: UserPresence.Answer, expected: TokenRefusalReason) async throws {
        let gate = gate(.path)
        #expect(try await gate.logIn(.presence).ticket.count == TokenLoginState.ticketLength)
        try UserPresence(device).set(answer)
        #expect(try await obstacle { _ = try await gate.logIn(.presence) } == expected)
    }

    @Test("A login fails if the device is locked or has no passcode")
    func closedDevice() async throws {
        let gate = gate(.pin)
        try device.lock()
        for login in [passcode(), .presence] {
            #expect(try await obstacle { _ = try await gate.logIn(login) } == .deviceLocked)
        }
        try device.unlock()
        try device.removePasscode()
        #expect(try await gate.logIn(.state).hasPasscode == false)
        #expect(try await obstacle { _ = try await gate.logIn(passcode()) } == .passcodeRemoved)
    }

    @Test("Only keys for non-repudiation require a login for each use, if that is enabled")
    func asksAlways() async throws {
        _ = try await register([.signature, .encryption, .authentication])
        let plain = try await gate(.pin).tokenObjects(after: nil, limit: 10).objects
        #expect(plain.allSatisfy { !$0.asksAlways })
        let gate = gate(.pin, asksAlways: true)
        let objects = try await gate.tokenObjects(after: nil, limit: 10).objects
        for object in objects {
            let usage = try #require(try Certificate(der: object.certificate).keyUsage)
            #expect(object.asksAlways == usage.contains(.nonRepudiation), "\(object.label)")
        }
        #expect(objects.count(where: \.asksAlways) == 1)
        #expect(try await gate.logIn(.state).asksAlways)
    }

    @Test("A new ticket above the limit replaces the oldest one")
    func manyTickets() async throws {
        let label = try await register([.signature])[0]
        let gate = gate(.path)
        let first = try await gate.logIn(.presence).ticket
        let second = try await gate.logIn(.presence).ticket
        for _ in 1..<TokenGate.mostTickets { _ = try await gate.logIn(.presence) }
        #expect(
            try await obstacle { _ = try await gate.openKey(for: use(label, ticket: first)) } == .notLoggedIn)
        _ = try await gate.openKey(for: use(label, ticket: second))
    }

    /// The obstacle of the `TokenError` that `body` throws.
    private func obstacle(_ body: () async throws -> Void) async throws -> TokenRefusalReason? {
        do {
            try await body()
        } catch let error as TokenError {
            return error.obstacle
        }
        Issue.record("nothing was refused")
        return nil
    }
}
