package import DeviceSimulation
internal import KeyOperations
package import KeyShareServer
internal import KeyShareWire
internal import OpenSSL
package import PersistentToken
package import SecretMemory
private import Synchronization

/// The token extension: it uses the keys of the registrations for other apps, and never hands one out.
///
/// A use asks for the user's presence, unless the key was opened within the lifetime of the cache, as in the sample
/// provider. A cached key goes when the device is locked, unlocked or restarted, when its passcode changes, and when
/// registrations change.
package final class TokenKeys: Sendable {
    /// What differs from a token that works as this project would have it.
    package struct Behaviour: Sendable, Hashable {
        /// Whether the token is as narrow as the sample provider's, and has its errors.
        package var isLikeTheSample = false
        /// What the token does wrong on purpose; nil for nothing.
        package var fault: TokenFault?
        /// How long a key stays open after the user was there. The sample's figure is 180 seconds.
        package var cacheLifetime = Duration.seconds(180)
        /// How long a question to the user waits.
        package var presenceTimeout = Duration.seconds(60)

        /// The behaviour of a token without faults.
        package init() {}
    }

    /// A use that was checked, with what it takes from the registration.
    private struct CheckedUse: Sendable {
        let use: TokenUse
        let algorithm: SecKeyAlgorithm
        /// The label of the key, which is another's only where the fault says so.
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

    /// A token extension for the registrations of a provider.
    ///
    /// - Parameters:
    ///   - store: the provider's keychain.
    ///   - behaviour: what differs from a token that works.
    ///   - deviceState: the watch over the device's state that the provider has, too; nil for one of its own.
    ///   - now: the clock that the cache's lifetime is measured with.
    ///   - sleep: waits; throws `CancellationError` where the task is cancelled.
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
    /// - Throws: `TokenError`; its obstacle says what its code hides.
    package func use(_ use: TokenUse) async throws(TokenError) -> SecretBytes {
        try await openKey(for: use)()
    }

    /// Checks a use and opens its key; where the key is not open yet, the user is asked.
    ///
    /// - Returns: the computation of the use.
    /// - Throws: `TokenError`; its obstacle says what its code hides.
    package func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation {
        try await openKey(for: use, isUserPresent: false)
    }

    /// Checks a use and opens its key.
    ///
    /// - Parameters:
    ///   - use: What is to be done with which key.
    ///   - isUserPresent: Whether the user has proved to be there, as by a login, and is not asked.
    /// - Returns: the computation of the use.
    /// - Throws: `TokenError`; its obstacle says what its code hides.
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

    /// The use of a key that is open already; nil where `openKey(for:)` has to look closer.
    package func openedKey(for use: TokenUse) -> OpenedTokenUse? {
        guard behaviour.fault != .slow else { return nil }
        do {
            guard let snapshot = try catalogue.current() else { return nil }
            let checked = try check(use, snapshot)
            return cached(checked, try requireUnlocked()).map { key in
                OpenedTokenUse(cost: Self.cost(of: key), computation: computation(checked, key))
            }
        } catch {
            // The other function comes to the same error, and reports it.
            return nil
        }
    }

    /// Closes all keys, as when the provider's app ends.
    package func forget() {
        cache.withLock { $0 = Cache() }
    }

    /// Closes the keys that may not stay open: those whose time is over, and all of them where the device or the
    /// registrations have changed.
    ///
    /// - Returns: how long the next of the others may stay open; nil where none is open.
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

    /// How many keys are open now.
    package var openKeys: Int { cache.withLock { $0.keys.count } }

    /// The state of the device.
    ///
    /// - Throws: `FileError`.
    func deviceStatus() throws -> DeviceStatus { try deviceState.status() }
}

// MARK: - Steps of a use

extension TokenKeys {
    /// The longest secret that a derivation gives, in bytes: what fits one reply.
    private static let longestSecret = Wire.useDataLimit

    /// Refuses what no key is opened for.
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

    /// Refuses what the key does not support. The sample's extension looks at the algorithm's name alone.
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
        // ECIES decrypts by agreeing on a key, for which a certificate has keyAgreement.
        let isAllowed =
            registration.properties.allows(use.operation)
            || (algorithm.family == .ec && use.operation == .decrypt
                && registration.properties.canPerformKeyExchange)
        guard isAllowed else {
            throw TokenError(
                .badParameter, "the certificate's key usage does not allow this operation",
                obstacle: .usageForbids)
        }
        guard use.parameters.requestedSize <= Self.longestSecret else {
            throw TokenError(
                .badParameter, "a derivation gives at most \(Self.longestSecret) bytes",
                obstacle: .wrongLength)
        }
    }

    /// The key, from the cache or, once the user was there, from the keychain.
    private func openKey(_ checked: CheckedUse, isUserPresent: Bool) async throws -> PrivateKey {
        if let key = cached(checked, try requireUnlocked()) { return key }
        if !isUserPresent { try await presence.require(timeout: behaviour.presenceTimeout, sleep: sleep) }
        // The device may have been locked while the user was asked.
        let (status, changeCount) = (try requireUnlocked(), try catalogue.changeCount())
        let key = try store.privateKey(checked.keyLabel)
        let opened = Opened(key: key, opened: now())
        cache.withLock { cache in
            refresh(&cache, status, changeCount, opened.opened)
            cache.keys[checked.keyLabel] = opened
        }
        return key
    }

    /// The device's status; throws where its state keeps the keys closed.
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

    /// The key where it is open, and may be at this status of the device.
    private func cached(_ checked: CheckedUse, _ status: DeviceStatus) -> PrivateKey? {
        let instant = now()
        return cache.withLock { cache in
            refresh(&cache, status, checked.changeCount, instant)
            return cache.keys[checked.keyLabel]?.key
        }
    }

    /// Closes the keys that may not stay open. A key's time runs from its opening, not from its last use.
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
                // The device may have been locked while the use waited for its turn.
                try requireUnlocked()
                return try perform(checked, key)
            } catch {
                throw reported(error)
            }
        }
    }

    /// About how long a use of a key takes. OpenSSL has code of its own for P-256, and none for P-384.
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

extension TokenKeys {
    /// The error as the token's users see it.
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
            // The sample's extension returns nil and no error, for which the system has this code.
            return TokenError(.communicationError, "the token gave no answer", obstacle: .undecryptable)
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
                ? TokenError(.canceledByUser, "the use was given up", obstacle: .userCanceled)
                : TokenError(.communicationError, "the token's key cannot be used: \(error)")
        }
    }
}
