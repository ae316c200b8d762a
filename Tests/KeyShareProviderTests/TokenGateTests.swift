import DeviceSimulation
import Foundation
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

@Suite("Logins to the persistent token")
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
        "A use with a ticket does not ask the user, and one without a ticket does",
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

    @Test("A ticket that was never given, or is from before a lock or a restart, is refused")
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
        // Another provider gives tickets of its own.
        let ticket = try await gate.logIn(passcode()).ticket
        let other = self.gate(.pin)
        #expect(
            try await obstacle { _ = try await other.openKey(for: use(label, ticket: ticket)) }
                == .notLoggedIn)
    }

    @Test("Wrong passcodes are counted where the passcode is the PIN, and nowhere else")
    func wrongPasscode() async throws {
        for mode in [TokenLoginMode.presence, .path] {
            let gate = gate(mode)
            for _ in 0..<4 {
                #expect(try await obstacle { _ = try await gate.logIn(passcode("1")) } == .wrongPasscode)
            }
            #expect(try await gate.logIn(.state).triesLeft == 3)
        }
        let gate = gate(.pin)
        for (left, expected) in [(2, TokenObstacle.wrongPasscode), (1, .wrongPasscode), (0, .passcodeLocked)]
        {
            #expect(try await obstacle { _ = try await gate.logIn(passcode("1")) } == expected)
            #expect(try await gate.logIn(.state).triesLeft == left)
        }
        #expect(try await obstacle { _ = try await gate.logIn(passcode()) } == .passcodeLocked)
    }

    @Test(
        "A login by presence goes as the user answers",
        arguments: [
            (UserPresence.Answer.deny, TokenObstacle.userDenied), (.cancel, .userCanceled),
            (.ask, .userTimedOut),
        ])
    func presence(answer: UserPresence.Answer, expected: TokenObstacle) async throws {
        let gate = gate(.path)
        #expect(try await gate.logIn(.presence).ticket.count == TokenLoginState.ticketLength)
        try UserPresence(device).set(answer)
        #expect(try await obstacle { _ = try await gate.logIn(.presence) } == expected)
    }

    @Test("Nobody logs in to a device that is locked or has no passcode")
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

    @Test("Where keys ask always, those of certificates for non-repudiation do")
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

    @Test("The oldest ticket goes for one too many")
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

    /// The obstacle of the token's error that `body` throws.
    private func obstacle(_ body: () async throws -> Void) async throws -> TokenObstacle? {
        do {
            try await body()
        } catch let error as TokenError {
            return error.obstacle
        }
        Issue.record("nothing was refused")
        return nil
    }
}
