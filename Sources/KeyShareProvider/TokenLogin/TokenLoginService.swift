internal import DeviceSimulation
internal import KeyShareProtocol
package import KeyShareServer
package import KeyShareWire
internal import KeySharing
package import OpenSSL
package import PersistentToken
internal import SimulatedKeychain
private import Synchronization

/// Manages logins to the token, for programs that use it through PKCS #11. A key use shows no prompt if the user has
/// logged in.
///
/// A login returns a ticket. The ticket is valid until the device is locked or restarted, its passcode is set, or the
/// provider ends. Apps have no ticket, so their key uses prompt the user when the key is opened.
package final class TokenLoginService: Sendable {
    /// The login settings.
    package struct Behaviour: Sendable, Hashable {
        /// The proof that a login requires.
        package var mode = TokenLoginMode.presence
        /// Whether keys of certificates for non-repudiation require a separate login for each use.
        package var asksAlways = false

        /// Creates the default settings, with which programs need not log in.
        package init() {}
    }

    /// The tickets that are valid for one lock count of the device.
    private struct Tickets: Sendable {
        var lockCount: UInt64 = 0
        /// The tickets, the oldest first.
        var order: [[UInt8]] = []
        /// All tickets of `order`, as a set for fast lookup at each key use.
        var good: Set<[UInt8]> = []
    }

    /// The maximum number of tickets. A new ticket replaces the oldest.
    package static let mostTickets = 1_024

    private let token: any KeyOpeningToken
    private let device: Device
    private let behaviour: Behaviour
    private let random: RandomSource
    private let presenceTimeout: Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    private let tickets = Mutex(Tickets())

    /// Creates the login service for a provider's token.
    ///
    /// - Parameters:
    ///   - token: The token extension, possibly with a deliberate fault.
    ///   - behaviour: The login settings.
    ///   - random: The source of tickets.
    ///   - presenceTimeout: How long a prompt waits for the user.
    ///   - sleep: Waits; throws `CancellationError` if the task is cancelled.
    package init(
        _ token: any KeyOpeningToken, behaviour: Behaviour, random: RandomSource = .system,
        presenceTimeout: Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.token = token
        device = token.device
        self.behaviour = behaviour
        self.random = random
        self.presenceTimeout = presenceTimeout
        self.sleep = sleep
    }
}

// MARK: - Logging in

extension TokenLoginService {
    /// Logs in, or only returns the state of the login, as `login` requests.
    ///
    /// - Throws: `TokenError`.
    package func logIn(_ login: TokenLogin) async throws(TokenError) -> TokenLoginState {
        do {
            switch login {
            case .state: return try state(ticket: [])
            case .presence:
                let before = try requireUnlocked()
                try await UserPresence(device).require(timeout: presenceTimeout, sleep: sleep)
                return try ticket(since: before)
            case .passcode(let passcode):
                let before = try requireUnlocked()
                try check(passcode)
                return try ticket(since: before)
            }
        } catch let error as TokenError {
            throw error
        } catch {
            throw TokenError(.communicationError, "the login failed: \(error)")
        }
    }

    private func state(ticket: [UInt8]) throws -> TokenLoginState {
        TokenLoginState(
            mode: behaviour.mode, asksAlways: behaviour.asksAlways,
            hasPasscode: try token.deviceStatus().state.hasPasscode,
            triesLeft: try DevicePasscode(device).triesLeft(), ticket: ticket)
    }

    /// Issues a ticket.
    ///
    /// - Throws: `TokenError` if the device was locked, or its passcode was set, after `before` was read.
    private func ticket(since before: DeviceStatus) throws -> TokenLoginState {
        let now = try requireUnlocked()
        guard now.lockCount == before.lockCount else {
            throw TokenError(
                .authenticationNeeded, "the device was locked, or its passcode was set, during the login",
                obstacle: .deviceLocked)
        }
        var numbers = random.generator()
        let ticket = numbers.octets(TokenLoginState.ticketLength)
        tickets.withLock { tickets in
            if tickets.lockCount != now.lockCount { tickets = Tickets(lockCount: now.lockCount) }
            if tickets.order.count >= Self.mostTickets { tickets.good.remove(tickets.order.removeFirst()) }
            tickets.order.append(ticket)
            tickets.good.insert(ticket)
        }
        return try state(ticket: ticket)
    }

    private func requireUnlocked() throws -> DeviceStatus {
        let status = try token.deviceStatus()
        guard status.state.hasPasscode else {
            throw TokenError(
                .objectNotFound, "the device has no passcode, so the token has no keys",
                obstacle: .passcodeRemoved)
        }
        guard status.state.lock == .unlocked else { throw Self.locked }
        return status
    }

    /// Compares a passcode. A wrong passcode uses up an attempt even in the presence mode, because every login replaces
    /// the user's consent.
    private func check(_ passcode: TokenLogin.Passcode) throws {
        switch try DevicePasscode(device).check(passcode.bytes) {
        case .right: return
        case .wrong(let left):
            throw TokenError(
                .authenticationFailed, "the passcode is wrong; attempts left: \(left)",
                obstacle: left > 0 ? .wrongPasscode : .passcodeLocked)
        case .locked:
            throw TokenError(
                .authenticationFailed, "the passcode was wrong too many times", obstacle: .passcodeLocked)
        }
    }

    private static let locked = TokenError(
        .authenticationNeeded, "the device is locked", obstacle: .deviceLocked)
}

// MARK: - Key uses

extension TokenLoginService: TokenService {
    /// Forwards to the token.
    package func tokens(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenPage {
        try await token.tokens(after: cursor, limit: limit)
    }

    /// Forwards to the token.
    package func tokenStatus() async throws(ProviderFailure) -> TokenStatus { try await token.tokenStatus() }

    /// Forwards to the token, and marks the objects whose keys require a login for each use.
    package func tokenObjects(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> TokenObjectPage {
        var page = try await token.tokenObjects(after: cursor, limit: limit)
        guard behaviour.asksAlways else { return page }
        for place in page.objects.indices {
            // Every certificate in the list was parsed when the list was built.
            let certificate = try? Certificate(der: page.objects[place].certificate)
            page.objects[place].asksAlways = certificate?.keyUsage?.contains(.nonRepudiation) == true
        }
        return page
    }

    /// Forwards to the token.
    package func message(for use: TokenUse) throws(TokenError) -> any MultipartSignature {
        try token.message(for: use)
    }

    /// Forwards to the token, unless the key use has an invalid ticket.
    package func openedKey(for use: TokenUse) -> OpenedTokenUse? {
        let ticket = use.parameters.ticket
        guard ticket.isEmpty || isGood(ticket) else { return nil }
        return token.openedKey(for: use, isUserPresent: !ticket.isEmpty)
    }

    /// Opens a key, without a prompt if the key use has a valid ticket.
    package func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation {
        let ticket = use.parameters.ticket
        guard ticket.isEmpty || isGood(ticket) else {
            throw TokenError(.authenticationNeeded, "the login has ended", obstacle: .notLoggedIn)
        }
        return try await token.openKey(for: use, isUserPresent: !ticket.isEmpty)
    }

    private func isGood(_ ticket: [UInt8]) -> Bool {
        guard let lockCount = try? token.deviceStatus().lockCount else { return false }
        return tickets.withLock { $0.lockCount == lockCount && $0.good.contains(ticket) }
    }
}
