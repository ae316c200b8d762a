package import DeviceSimulation
internal import KeyOperations
internal import KeyShareProtocol
package import KeyShareServer
internal import KeyShareWire
internal import OpenSSL
package import PersistentToken
package import SecretMemory
private import Synchronization

/// The token extension: it uses the keys of the registrations for other apps. Keys never leave it.
///
/// A key use requires the user's presence, unless the key was opened within the lifetime of the cache, as in the sample
/// provider. Cached keys are closed when the device is locked, unlocked or restarted, when its passcode changes, and
/// when registrations change.
package final class TokenExtension: Sendable {
    /// The deviations from a correct token, and its timeouts.
    package struct Behaviour: Sendable, Hashable {
        /// Whether the token has the limits and errors of the sample provider's token.
        package var isLikeTheSample = false
        /// The deliberate fault of the token; nil if there is none.
        package var fault: TokenFault?
        /// How long a key stays open after the user's consent. The sample app uses 180 seconds.
        package var cacheLifetime = Duration.seconds(180)
        /// How long a prompt waits for the user.
        package var presenceTimeout = Duration.seconds(60)

        /// Creates the behaviour of a token without faults.
        package init() {}
    }

    /// A key use that was checked, with data from the registration.
    private struct CheckedUse: Sendable {
        let use: TokenUse
        let algorithm: SecKeyAlgorithm
        /// The label of the key. It differs from the object's label only because of a fault.
        let keyLabel: String
        /// The keychain's change count when the registration was read.
        let changeCount: Int64
    }

    private struct Opened: Sendable {
        let key: PrivateKey
        let opened: ContinuousClock.Instant
    }

    private struct Cache: Sendable {
        var status: DeviceStatus?
        var changeCount: Int64 = -1
        var keys: [String: Opened] = [:]
    }

    let device: Device
    let store: TokenStore
    let catalogue: TokenCatalogue
    let behaviour: Behaviour
    private let presence: UserPresence
    private let deviceState: DeviceStateWatch
    private let now: @Sendable () -> ContinuousClock.Instant
    private let sleep: @Sendable (Duration) async throws -> Void
    private let cache = Mutex(Cache())

    /// Creates a token extension for the registrations of a provider.
    ///
    /// - Parameters:
    ///   - store: the provider's keychain.
    ///   - behaviour: the deviations from a correct token.
    ///   - deviceState: the watch over the device's state that the token shares with the provider; nil to create one.
    ///   - now: the clock for the cache's lifetime.
    ///   - sleep: waits; throws `CancellationError` if the task is cancelled.
    package init(
        _ store: ProviderStore, behaviour: Behaviour = Behaviour(), deviceState: DeviceStateWatch? = nil,
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        device = store.device
        self.store = TokenStore(store)
        presence = UserPresence(store.device)
        let deviceState = deviceState ?? store.watchState()
        self.deviceState = deviceState
        catalogue = TokenCatalogue(self.store, deviceState.turn)
        self.behaviour = behaviour
        self.now = now
        self.sleep = sleep
    }

    /// Uses a key.
    ///
    /// - Returns: the signature, the plaintext or the shared secret.
    /// - Throws: `TokenError`, whose obstacle is the specific reason.
    package func use(_ use: TokenUse) async throws(TokenError) -> SecretBytes {
        try await openKey(for: use)()
    }

    /// Checks a key use and opens its key. If the key is not open yet, the user is asked.
    ///
    /// - Returns: the computation of the key use.
    /// - Throws: `TokenError`, whose obstacle is the specific reason.
    package func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation {
        try await openKey(for: use, isUserPresent: false)
    }

    /// Checks a use and opens its key.
    ///
    /// - Parameters:
    ///   - use: The operation and the key.
    ///   - isUserPresent: Whether the user's presence was already proved, for example by a login, so that no prompt is
    ///     shown.
    /// - Returns: the computation of the key use.
    /// - Throws: `TokenError`, whose obstacle is the specific reason.
    package func openKey(
        for use: TokenUse, isUserPresent: Bool
    ) async throws(TokenError) -> TokenComputation {
        do {
            if behaviour.fault == .slow { try await sleep(.seconds(1)) }
            let checked = try check(use, try catalogue.snapshot())
            return computation(checked, try await openKey(checked, isUserPresent: isUserPresent))
        } catch {
            throw reported(error)
        }
    }

    /// Returns a key use if its key is already open; nil if `openKey(for:)` must be called.
    package func openedKey(for use: TokenUse) -> OpenedTokenUse? {
        guard behaviour.fault != .slow else { return nil }
        do {
            guard let snapshot = try catalogue.current() else { return nil }
            let checked = try check(use, snapshot)
            return cached(checked, try requireUnlocked()).map { key in
                OpenedTokenUse(cost: Self.cost(of: key), computation: computation(checked, key))
            }
        } catch {
            // `openKey(for:)` fails with the same error, and reports it.
            return nil
        }
    }

    /// Closes all keys, for example when the provider's app ends.
    package func forget() {
        cache.withLock { $0 = Cache() }
    }

    /// Closes the keys that may not stay open: those whose lifetime is over, or all of them if the device or the
    /// registrations have changed.
    ///
    /// - Returns: the time until the next open key must be closed; nil if no key is open.
    @discardableResult
    package func forgetStale() -> Duration? {
        guard let status = try? deviceState.status(), let changeCount = try? catalogue.changeCount() else {
            forget()
            return nil
        }
        let instant = now()
        return cache.withLock { cache in
            refresh(&cache, status, changeCount, instant)
            return cache.keys.values.map { behaviour.cacheLifetime - $0.opened.duration(to: instant) }.min()
        }
    }

    /// The number of open keys.
    package var openKeys: Int { cache.withLock { $0.keys.count } }

    func deviceStatus() throws -> DeviceStatus { try deviceState.status() }
}

// MARK: - Steps of a use

extension TokenExtension {
    /// The maximum length of a derived secret, in bytes: it fits one reply.
    private static let longestSecret = Wire.useDataLimit

    /// Checks that the key use is permitted, before its key is opened.
    private func check(_ use: TokenUse, _ snapshot: TokenCatalogue.Snapshot) throws -> CheckedUse {
        if behaviour.fault == .foregroundTimeout {
            throw TokenError(
                .authenticationNeeded, "the provider's app was not opened for 24 hours",
                obstacle: .foregroundTimeout)
        }
        let registration = try registration(use.objectID, snapshot)
        guard let algorithm = SecKeyAlgorithm(named: use.algorithm) else {
            throw TokenError(
                .badParameter, "there is no algorithm \u{201C}\(use.algorithm)\u{201D}",
                obstacle: .wrongAlgorithm)
        }
        try check(use, algorithm, registration)
        let keyOwner = behaviour.fault == .keyOfAnotherCertificate ? snapshot.next(after: use.objectID) : nil
        return CheckedUse(
            use: use, algorithm: algorithm, keyLabel: keyOwner?.label ?? registration.label,
            changeCount: snapshot.changeCount)
    }

    private func registration(
        _ label: String, _ snapshot: TokenCatalogue.Snapshot
    ) throws -> TokenRegistration {
        guard behaviour.fault != .staleConfiguration, let registration = snapshot[label] else {
            throw TokenError(.objectNotFound, "no token has the object \(label)", obstacle: .notRegistered)
        }
        guard registration.hasKey, behaviour.fault != .certificateWithoutKey else {
            let hasPasscode = try deviceState.status().state.hasPasscode
            throw TokenError(
                .objectNotFound,
                hasPasscode ? "the token's key is gone" : "the token's key went with the device's passcode",
                obstacle: hasPasscode ? .keyMissing : .passcodeRemoved)
        }
        return registration
    }

    /// Checks that the key supports the operation. The sample's extension checks only the algorithm's name.
    private func check(
        _ use: TokenUse, _ algorithm: SecKeyAlgorithm, _ registration: TokenRegistration
    ) throws(TokenError) {
        if behaviour.isLikeTheSample {
            guard use.operation != .keyExchange, algorithm.family == .rsa else {
                throw TokenError(
                    .badParameter, "the token does not support \(algorithm.name)", obstacle: .wrongAlgorithm)
            }
            return
        }
        guard algorithm.operation == use.operation else {
            throw TokenError(
                .badParameter, "\(algorithm.name) is not an algorithm for this operation",
                obstacle: .wrongAlgorithm)
        }
        guard algorithm.isSupported(by: registration.keyType, bits: registration.keyBits) else {
            throw .unsupported(algorithm, registration.keyType, bits: registration.keyBits)
        }
        // ECIES decryption performs a key agreement, for which a certificate has keyAgreement.
        let isAllowed =
            registration.properties.allows(use.operation)
            || (algorithm.family == .ec && use.operation == .decrypt
                && registration.properties.canPerformKeyExchange)
        guard isAllowed else {
            throw TokenError(
                .badParameter,
                registration.certificate.keyUsage == nil
                    ? "the certificate has no key usage, so its key can do nothing"
                    : "the certificate's key usage does not allow this operation",
                obstacle: .usageForbids)
        }
        guard use.parameters.requestedSize <= Self.longestSecret else {
            throw TokenError(
                .badParameter, "a derivation produces at most \(Self.longestSecret) bytes",
                obstacle: .wrongLength)
        }
    }

    /// Returns the key from the cache, or, after the user's consent, from the keychain.
    private func openKey(_ checked: CheckedUse, isUserPresent: Bool) async throws -> PrivateKey {
        if let key = cached(checked, try requireUnlocked()) { return key }
        if !isUserPresent { try await presence.require(timeout: behaviour.presenceTimeout, sleep: sleep) }
        // The device may have been locked while the prompt was shown.
        let (status, changeCount) = (try requireUnlocked(), try catalogue.changeCount())
        let key = try store.privateKey(checked.keyLabel)
        let opened = Opened(key: key, opened: now())
        cache.withLock { cache in
            refresh(&cache, status, changeCount, opened.opened)
            cache.keys[checked.keyLabel] = opened
        }
        return key
    }

    /// Returns the device's status. Throws if its state protects the keys.
    @discardableResult
    private func requireUnlocked() throws -> DeviceStatus {
        let status = try deviceState.status()
        let state = status.state
        guard !TokenStore.accessibility.isAvailable(in: state) else { return status }
        guard state.hasPasscode else {
            throw TokenError(
                .objectNotFound, "the token's key went with the device's passcode", obstacle: .passcodeRemoved
            )
        }
        throw TokenError(.authenticationNeeded, "the device is locked", obstacle: .deviceLocked)
    }

    /// Returns the key if it is open and may stay open in this state of the device.
    private func cached(_ checked: CheckedUse, _ status: DeviceStatus) -> PrivateKey? {
        let instant = now()
        return cache.withLock { cache in
            refresh(&cache, status, checked.changeCount, instant)
            return cache.keys[checked.keyLabel]?.key
        }
    }

    /// Closes the keys that may not stay open. A key's lifetime begins when it is opened, not with its last use.
    private func refresh(
        _ cache: inout Cache, _ status: DeviceStatus, _ changeCount: Int64, _ instant: ContinuousClock.Instant
    ) {
        guard cache.status == status, cache.changeCount == changeCount else {
            cache = Cache(status: status, changeCount: changeCount)
            return
        }
        let lifetime = behaviour.cacheLifetime
        guard cache.keys.contains(where: { $0.value.opened.duration(to: instant) >= lifetime }) else {
            return
        }
        cache.keys = cache.keys.filter { $0.value.opened.duration(to: instant) < lifetime }
    }

    private func computation(_ checked: CheckedUse, _ key: PrivateKey) -> TokenComputation {
        { [self] () throws(TokenError) in
            do {
                // The device may have been locked while the key use was queued.
                try requireUnlocked()
                return try perform(checked, key)
            } catch {
                throw reported(error)
            }
        }
    }

    /// The approximate time of a key use. OpenSSL has optimized code for P-256, but not for P-384.
    private static func cost(of key: PrivateKey) -> OpenedTokenUse.Cost {
        switch key.type {
        case .rsa: key.bits <= 2_048 ? .moderate : .high
        default: key.bits <= 256 ? .low : .high
        }
    }

    private func perform(_ checked: CheckedUse, _ key: PrivateKey) throws(TokenError) -> SecretBytes {
        let (use, algorithm) = (checked.use, checked.algorithm)
        switch use.operation {
        case .sign:
            var signature = try key.sign(use.data, algorithm, parameters: use.parameters)
            if behaviour.fault == .wrongSignature, let last = signature.indices.last { signature[last] ^= 1 }
            return SecretBytes(signature)
        case .decrypt: return try key.decrypt(use.data, algorithm, parameters: use.parameters)
        case .keyExchange:
            return try key.exchangeKey(with: use.data, algorithm, parameters: use.parameters)
        }
    }
}

// MARK: - Errors

extension TokenExtension {
    /// Returns the error that the token's clients receive.
    private func reported(_ error: any Error) -> TokenError {
        let reported = (error as? TokenError) ?? Self.translated(error)
        let hidesCancel = behaviour.isLikeTheSample || behaviour.fault == .cancelLooksLikeNotFound
        let hidesDecryption = behaviour.isLikeTheSample || behaviour.fault == .decryptWithoutError
        switch reported.obstacle {
        case .userDenied, .userCanceled, .userTimedOut:
            guard hidesCancel else { return reported }
        case .deviceLocked:
            guard behaviour.isLikeTheSample else { return reported }
        case .undecryptable:
            guard hidesDecryption else { return reported }
            // The sample's extension returns nil and no error, which the system reports with this code.
            return TokenError(.communicationError, "the token returned no result", obstacle: .undecryptable)
        default: return reported
        }
        return TokenError(.objectNotFound, "the token did not find its key", obstacle: reported.obstacle)
    }

    private static func translated(_ error: any Error) -> TokenError {
        switch (error as? KeychainError)?.code {
        case .interactionNotAllowed?:
            TokenError(.authenticationNeeded, "the device keeps the key closed", obstacle: .deviceLocked)
        case .itemNotFound?: TokenError(.objectNotFound, "the token's key is gone", obstacle: .keyMissing)
        case .decode?: TokenError(.corruptedData, "the token's key was altered")
        default:
            error is CancellationError
                ? TokenError(.canceledByUser, "the key use was cancelled", obstacle: .userCanceled)
                : TokenError(.communicationError, "the token's key cannot be used: \(error)")
        }
    }
}
