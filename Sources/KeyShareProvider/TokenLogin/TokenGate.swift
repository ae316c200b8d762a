internal import DeviceSimulation
package import KeyShareServer
package import KeyShareWire
internal import KeySharing
package import OpenSSL
package import PersistentToken
private import Synchronization

/// Logins to the token, for programs that use it through PKCS #11: it stands before the keys and lets a use pass without
/// asking the user where the user has just logged in.
///
/// A login gives a ticket, which is good until the device is locked or restarted, or the provider ends. A use without a
/// ticket goes on as an app's does: the user is asked when its key is opened.
package final class TokenGate: Sendable {
    /// How programs log in.
    package struct Behaviour: Sendable, Hashable {
        /// What a login asks for.
        package var mode = TokenLoginMode.presence
        /// Whether keys of certificates for non-repudiation want a login of their own at each use.
        package var asksAlways = false

        /// Programs need not log in.
        package init() {}
    }

    /// The tickets that are good under a number of locks and restarts.
    private struct Tickets: Sendable {
        var lockCount: UInt64 = 0
        /// The tickets, the oldest first.
        var order: [[UInt8]] = []
        /// The tickets, for the look at each use.
        var good: Set<[UInt8]> = []
    }

    /// The most tickets at one time; the oldest goes for a new one.
    package static let mostTickets = 1_024

    private let keys: TokenKeys
    private let device: Device
    private let behaviour: Behaviour
    private let random: RandomSource
    private let presenceTimeout: Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    private let tickets = Mutex(Tickets())

    /// The way to the keys of a provider.
    ///
    /// - Parameters:
    ///   - keys: the keys.
    ///   - behaviour: how programs log in.
    ///   - random: where tickets come from.
    ///   - presenceTimeout: how long a question to the user waits.
    ///   - sleep: waits; throws `CancellationError` where the task is cancelled.
    package init(
        _ keys: TokenKeys, behaviour: Behaviour, random: RandomSource = .system, presenceTimeout: Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.keys = keys
        device = keys.device
        self.behaviour = behaviour
        self.random = random
        self.presenceTimeout = presenceTimeout
        self.sleep = sleep
    }
}

// MARK: - Logging in

extension TokenGate {
    /// Logs in, or tells how.
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
            throw TokenError(.communicationError, "the login could not be done: \(error)")
        }
    }

    private func state(ticket: [UInt8]) throws -> TokenLoginState {
        TokenLoginState(
            mode: behaviour.mode, asksAlways: behaviour.asksAlways,
            hasPasscode: try keys.deviceStatus().state.hasPasscode,
            triesLeft: try DevicePasscode(device).triesLeft(), ticket: ticket)
    }

    /// A new ticket, unless the device was locked since it was looked at.
    private func ticket(since before: DeviceStatus) throws -> TokenLoginState {
        let now = try requireUnlocked()
        guard now.lockCount == before.lockCount else { throw Self.locked }
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
        let status = try keys.deviceStatus()
        guard status.state.hasPasscode else {
            throw TokenError(
                .objectNotFound, "the device has no passcode, and the token no keys",
                obstacle: .passcodeRemoved)
        }
        guard status.state.lock == .unlocked else { throw Self.locked }
        return status
    }

    /// Compares a passcode. Where programs need not log in, a wrong one costs no try.
    private func check(_ passcode: TokenLogin.Passcode) throws {
        let outcome = try DevicePasscode(device).check(passcode.bytes, counting: behaviour.mode == .pin)
        switch outcome {
        case .right: return
        case .wrong(let left):
            throw TokenError(
                .authenticationFailed, "the passcode is wrong; tries left: \(left)",
                obstacle: left > 0 || behaviour.mode != .pin ? .wrongPasscode : .passcodeLocked)
        case .locked:
            throw TokenError(
                .authenticationFailed, "the passcode was wrong too often", obstacle: .passcodeLocked)
        }
    }

    private static let locked = TokenError(
        .authenticationNeeded, "the device is locked", obstacle: .deviceLocked)
}

// MARK: - Uses

extension TokenGate: TokenService {
    /// The keys' own answer.
    package func tokens(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenPage {
        try await keys.tokens(after: cursor, limit: limit)
    }

    /// The keys' own answer.
    package func tokenStatus() async throws(ProviderFailure) -> TokenStatus { try await keys.tokenStatus() }

    /// The keys' own answer, with a mark on the objects whose keys want a login for each use.
    package func tokenObjects(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> TokenObjectPage {
        var page = try await keys.tokenObjects(after: cursor, limit: limit)
        guard behaviour.asksAlways else { return page }
        for place in page.objects.indices {
            // Every certificate of the list was read before.
            let certificate = try? Certificate(der: page.objects[place].certificate)
            page.objects[place].asksAlways = certificate?.keyUsage?.contains(.nonRepudiation) == true
        }
        return page
    }

    /// The keys' own answer.
    package func message(for use: TokenUse) throws(TokenError) -> any TokenMessage {
        try keys.message(for: use)
    }

    /// The keys' own answer, unless the use has a ticket that is not good.
    package func openedKey(for use: TokenUse) -> OpenedTokenUse? {
        guard use.parameters.ticket.isEmpty || isGood(use.parameters.ticket) else { return nil }
        return keys.openedKey(for: use)
    }

    /// Opens a key, without asking the user where the use has a good ticket.
    package func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation {
        guard !use.parameters.ticket.isEmpty else { return try await keys.openKey(for: use) }
        guard isGood(use.parameters.ticket) else {
            throw TokenError(.authenticationNeeded, "the login is over", obstacle: .notLoggedIn)
        }
        return try await keys.openKey(for: use, isUserPresent: true)
    }

    private func isGood(_ ticket: [UInt8]) -> Bool {
        guard let lockCount = try? keys.deviceStatus().lockCount else { return false }
        return tickets.withLock { $0.lockCount == lockCount && $0.good.contains(ticket) }
    }
}
