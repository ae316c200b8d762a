import DeviceSimulation
import Foundation
import KeyShareProtocol
import KeyShareServer
import KeyShareWire
import KeySharing
import OpenSSL
import PersistentToken
import SecretMemory
import TestSupport
import TestVectors
import Testing

@testable import KeyShareProvider
@testable import TestCredentials

@Suite("Logins to the persistent token", .timeLimit(.minutes(10)))
struct TokenLoginServiceTests {
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

    private func logins(_ mode: TokenLoginMode, asksAlways: Bool = false) -> TokenLoginService {
        var behaviour = TokenLoginService.Behaviour()
        behaviour.mode = mode
        behaviour.asksAlways = asksAlways
        let keys = TokenExtension(store, now: { ContinuousClock.now }, sleep: { _ in })
        return TokenLoginService(keys, behaviour: behaviour, presenceTimeout: .zero, sleep: { _ in })
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
        let logins = logins(mode)
        let ticket = try await logins.logIn(passcode()).ticket
        #expect(ticket.count == TokenLoginState.ticketLength)
        try UserPresence(device).set(.deny)
        let refusal = try await obstacle { _ = try await logins.openKey(for: use(label, ticket: [])) }
        #expect(refusal == .userDenied)
        #expect(logins.openedKey(for: use(label, ticket: ticket)) == nil)
        let computation = try await logins.openKey(for: use(label, ticket: ticket))
        #expect(try !computation().isEmpty)
        #expect(logins.openedKey(for: use(label, ticket: ticket)) != nil)
    }

    @Test("A key that a program opened after a login is not open for other programs until the user consents")
    func otherPrograms() async throws {
        let label = try await register([.signature])[0]
        let logins = logins(.pin)
        let ticket = try await logins.logIn(passcode()).ticket
        _ = try await logins.openKey(for: use(label, ticket: ticket))
        try UserPresence(device).set(.deny)
        #expect(logins.openedKey(for: use(label, ticket: [])) == nil)
        let refusal = try await obstacle { _ = try await logins.openKey(for: use(label, ticket: [])) }
        #expect(refusal == .userDenied)
        #expect(logins.openedKey(for: use(label, ticket: ticket)) != nil)
        try UserPresence(device).set(.allow)
        _ = try await logins.openKey(for: use(label, ticket: []))
        #expect(logins.openedKey(for: use(label, ticket: [])) != nil)
    }

    @Test("A key that was opened before the device was locked cannot be used afterwards")
    func lockedBeforeComputation() async throws {
        let label = try await register([.signature])[0]
        let logins = logins(.pin)
        let ticket = try await logins.logIn(passcode()).ticket
        let computation = try await logins.openKey(for: use(label, ticket: ticket))
        let opened = try #require(logins.openedKey(for: use(label, ticket: ticket)))
        try device.lock()
        #expect(try await obstacle { _ = try computation() } == .deviceLocked)
        #expect(try await obstacle { _ = try opened.computation() } == .deviceLocked)
    }

    @Test("A forged ticket, or one from before a lock or a restart, is rejected")
    func staleTicket() async throws {
        let label = try await register([.signature])[0]
        let logins = logins(.pin)
        let made = [UInt8](repeating: 7, count: TokenLoginState.ticketLength)
        #expect(
            try await obstacle { _ = try await logins.openKey(for: use(label, ticket: made)) } == .notLoggedIn
        )
        for close in [{ try device.lock() }, { try device.restart() }] {
            let ticket = try await logins.logIn(passcode()).ticket
            _ = try await logins.openKey(for: use(label, ticket: ticket))
            try close()
            try device.unlock()
            #expect(logins.openedKey(for: use(label, ticket: ticket)) == nil)
            let refusal = try await obstacle { _ = try await logins.openKey(for: use(label, ticket: ticket)) }
            #expect(refusal == .notLoggedIn)
        }
        // A later login does not make the tickets of an earlier one valid again.
        let early = try await logins.logIn(passcode()).ticket
        try device.lock()
        try device.unlock()
        let late = try await logins.logIn(passcode()).ticket
        _ = try await logins.openKey(for: use(label, ticket: late))
        // The key is open, and the wrong ticket does not use it.
        for wrong in [early, made] {
            #expect(logins.openedKey(for: use(label, ticket: wrong)) == nil)
            let refusal = try await obstacle { _ = try await logins.openKey(for: use(label, ticket: wrong)) }
            #expect(refusal == .notLoggedIn)
        }
        #expect(logins.openedKey(for: use(label, ticket: late)) != nil)
        // Another provider issues its own tickets.
        let ticket = try await logins.logIn(passcode()).ticket
        let other = self.logins(.pin)
        #expect(
            try await obstacle { _ = try await other.openKey(for: use(label, ticket: ticket)) }
                == .notLoggedIn)
    }

    @Test(
        "Three wrong passcodes lock the login by passcode in every login mode",
        arguments: TokenLoginMode.allCases)
    func wrongPasscode(mode: TokenLoginMode) async throws {
        let logins = logins(mode)
        for (left, expected) in [
            (2, TokenRefusalReason.wrongPasscode), (1, .wrongPasscode), (0, .passcodeLocked),
        ] {
            #expect(try await obstacle { _ = try await logins.logIn(passcode("1")) } == expected)
            #expect(try await logins.logIn(.state).triesLeft == left)
        }
        #expect(try await obstacle { _ = try await logins.logIn(passcode()) } == .passcodeLocked)
    }

    @Test(
        "A login ends when the passcode is replaced, and when it is removed and set again",
        arguments: TokenLoginMode.allCases)
    func changedPasscode(mode: TokenLoginMode) async throws {
        let changes: [(TokenLoginServiceTests) throws -> Void] = [
            { try DevicePasscode($0.device).set(SecretBytes(utf8: DevicePasscode.initial)) },
            { test in
                try test.device.removePasscode()
                try test.device.setPasscode()
            },
        ]
        for change in changes {
            let label = try await register([.signature])[0]
            let logins = logins(mode)
            let ticket = try await logins.logIn(passcode()).ticket
            _ = try await logins.openKey(for: use(label, ticket: ticket))
            try change(self)
            // Removing the passcode also deletes the key of the first identity, so the ticket is also tried with a new
            // one.
            let other = try await register([.authentication])[0]
            for label in [label, other] {
                #expect(logins.openedKey(for: use(label, ticket: ticket)) == nil)
                let refusal = try await obstacle {
                    _ = try await logins.openKey(for: use(label, ticket: ticket))
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
        let keys = TokenExtension(store, now: { ContinuousClock.now }, sleep: { _ in })
        let logins = TokenLoginService(
            keys, behaviour: TokenLoginService.Behaviour(), presenceTimeout: .seconds(60)
        ) { [device] _ in
            try device.lock()
            if isUnlocked { try device.unlock() }
        }
        #expect(try await obstacle { _ = try await logins.logIn(.presence) } == .deviceLocked)
    }

    @Test(
        "The result of a login by presence depends on the user's answer",
        arguments: [
            (UserPresence.Answer.deny, TokenRefusalReason.userDenied), (.cancel, .userCanceled),
            (.ask, .userTimedOut),
        ])
    func presence(answer: UserPresence.Answer, expected: TokenRefusalReason) async throws {
        let logins = logins(.path)
        #expect(try await logins.logIn(.presence).ticket.count == TokenLoginState.ticketLength)
        try UserPresence(device).set(answer)
        #expect(try await obstacle { _ = try await logins.logIn(.presence) } == expected)
    }

    @Test("A login fails if the device is locked or has no passcode")
    func closedDevice() async throws {
        let logins = logins(.pin)
        try device.lock()
        for login in [passcode(), .presence] {
            #expect(try await obstacle { _ = try await logins.logIn(login) } == .deviceLocked)
        }
        try device.unlock()
        try device.removePasscode()
        #expect(try await logins.logIn(.state).hasPasscode == false)
        #expect(try await obstacle { _ = try await logins.logIn(passcode()) } == .passcodeRemoved)
    }

    @Test("Only keys for non-repudiation require a login for each use, if that is enabled")
    func asksAlways() async throws {
        _ = try await register([.signature, .encryption, .authentication])
        let plain = try await logins(.pin).tokenObjects(after: nil, limit: 10).objects
        #expect(plain.allSatisfy { !$0.asksAlways })
        let logins = logins(.pin, asksAlways: true)
        let objects = try await logins.tokenObjects(after: nil, limit: 10).objects
        for object in objects {
            let usage = try #require(try Certificate(der: object.certificate).keyUsage)
            #expect(object.asksAlways == usage.contains(.nonRepudiation), "\(object.label)")
        }
        #expect(objects.count(where: \.asksAlways) == 1)
        #expect(try await logins.logIn(.state).asksAlways)
    }

    @Test("If the limit of tickets is reached, a new ticket replaces the oldest one")
    func manyTickets() async throws {
        let label = try await register([.signature])[0]
        let logins = logins(.path)
        let first = try await logins.logIn(.presence).ticket
        let second = try await logins.logIn(.presence).ticket
        for _ in 1..<TokenLoginService.mostTickets {
            _ = try await logins.logIn(.presence)
        }
        #expect(
            try await obstacle { _ = try await logins.openKey(for: use(label, ticket: first)) }
                == .notLoggedIn)
        _ = try await logins.openKey(for: use(label, ticket: second))
    }

    /// Returns the obstacle of the `TokenError` that `body` throws.
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
