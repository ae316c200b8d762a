package import DeviceSimulation
internal import KeyOperations
internal import KeyShareProtocol
package import KeyShareServer
internal import KeyShareWire
internal import OpenSSL
package import PersistentToken
internal import SecretMemory
package import SimulatedKeychain
private import Synchronization

/// The token extension, which uses the keys of the registrations on behalf of other apps. Keys never leave the
/// extension.
///
/// A key use requires the user's presence, unless the key was opened within the lifetime of the cache, as in the sample
/// provider. Cached keys are closed when the device is locked, unlocked or restarted, when its passcode changes, and
/// when registrations change.
package final class TokenExtension: Sendable {
    /// The token's deviations from a correct token, and its timeouts.
    package struct Behaviour: Sendable, Hashable {
        /// Whether the token has the limits and errors of the sample provider's token.
        package var isLikeTheSample = false
        /// How long a key remains open after the user's consent. The sample app uses 180 seconds.
        package var cacheLifetime = Duration.seconds(180)
        /// How long a prompt waits for the user.
        package var presenceTimeout = Duration.seconds(60)

        /// Creates the behaviour of a correct token.
        package init() {}
    }

    /// A permitted key use, with data from its registration.
    private struct CheckedUse: Sendable {
        let use: TokenUse
        let algorithm: SecKeyAlgorithm
        /// The label of the key. It differs from the registration's label only if a fault replaces the key.
        let keyLabel: String
        /// The keychain's change count when the registration was read.
        let changeCount: Int64
    }

    private struct Opened: Sendable {
        let key: PrivateKey
        let opened: ContinuousClock.Instant
        /// Whether the user consented, so that every app may use the key. A login is not consent for other apps.
        let hasConsent: Bool
    }

    private struct Cache: Sendable {
        var status: DeviceStatus?
        var changeCount: Int64 = -1
        var keys: [String: Opened] = [:]
    }

    /// The provider's device.
    package let device: Device
    let store: TokenStore
    let catalogue: TokenCatalogue
    let behaviour: Behaviour
    /// The fault of the ``FaultyToken`` that forwards to this token; nil for a correct token.
    let fault: TokenFault?
    private let presence: UserPresence
    private let deviceState: DeviceStateWatch
    private let now: @Sendable () -> ContinuousClock.Instant
    private let sleep: @Sendable (Duration) async throws -> Void
    private let cache = Mutex(Cache())

    /// Creates a token extension for the registrations of a provider.
    ///
    /// - Parameters:
    ///   - store: The provider's keychain.
    ///   - behaviour: The deviations from a correct token, and the timeouts.
    ///   - fault: The fault of the ``FaultyToken`` that forwards to this token. The token applies only its replacement
    ///     of keys. Nil for a correct token.
    ///   - deviceState: The watch on the device's state that the token shares with the provider; nil to create one.
    ///   - now: The clock for the cache's lifetime.
    ///   - sleep: Waits; throws `CancellationError` if the task is cancelled.
    package init(
        _ store: ProviderStore, behaviour: Behaviour = Behaviour(), fault: TokenFault? = nil,
        deviceState: DeviceStateWatch? = nil,
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
        self.fault = fault
        self.now = now
        self.sleep = sleep
    }

    /// Checks that a key use is permitted, and opens its key: from the cache, or, after the user's consent, from the
    /// keychain.
    package func openKey(
        for use: TokenUse, isUserPresent: Bool
    ) async throws(TokenError) -> TokenComputation {
        do {
            let checked = try check(use, try catalogue.snapshot())
            if let key = cached(checked, try requireUnlocked(), isUserPresent) {
                return computation(checked, key)
            }
            if !isUserPresent {
                try await presence.require(timeout: behaviour.presenceTimeout, sleep: sleep)
            }
            // The device may have been locked while the prompt was shown.
            let (status, changeCount) = (try requireUnlocked(), try catalogue.changeCount())
            let key = try store.privateKey(checked.keyLabel)
            let opened = Opened(key: key, opened: now(), hasConsent: !isUserPresent)
            cache.withLock { cache in
                refresh(&cache, status, changeCount, opened.opened)
                cache.keys[checked.keyLabel] = opened
            }
            return computation(checked, key)
        } catch {
            throw reported(error)
        }
    }

    /// Returns a key use if its key is already open and may be used without a prompt; otherwise returns nil, and the
    /// caller must call `openKey(for:isUserPresent:)`.
    package func openedKey(for use: TokenUse, isUserPresent: Bool) -> OpenedTokenUse? {
        do {
            guard let snapshot = try catalogue.current() else { return nil }
            let checked = try check(use, snapshot)
            return cached(checked, try requireUnlocked(), isUserPresent).map { key in
                OpenedTokenUse(cost: Self.cost(of: key), computation: computation(checked, key))
            }
        } catch {
            // `openKey` then fails with the same error and reports it.
            return nil
        }
    }

    /// Closes all keys, for example when the provider's app ends.
    package func forget() {
        cache.withLock { $0 = Cache() }
    }

    /// Closes the keys that must not remain open: those whose lifetime has expired, or all keys if the device or the
    /// registrations have changed.
    ///
    /// - Returns: The time until the next open key must be closed; nil if no key is open.
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

    /// Returns the device's status.
    package func deviceStatus() throws -> DeviceStatus { try deviceState.status() }

    /// Returns the error that a key use reports if its key no longer exists.
    ///
    /// - Throws: `TokenError` if no registration has the label; `KeychainError`, `CertificateError` or an error of the
    ///   device's files if the registrations or the device's status cannot be read.
    func errorWithoutKey(_ label: String) throws -> TokenError {
        guard try catalogue.snapshot()[label] != nil else { throw TokenError.notRegistered(label) }
        return try missingKey()
    }
}

// MARK: - Steps of a key use

extension TokenExtension {
    /// The maximum length of a derived secret, in bytes, so that the secret fits in one reply.
    private static let longestSecret = Wire.useDataLimit

    /// Checks that the key use is permitted, before its key is opened.
    private func check(_ use: TokenUse, _ snapshot: TokenCatalogue.Snapshot) throws -> CheckedUse {
        let registration = try registration(use.objectID, snapshot)
        guard let algorithm = SecKeyAlgorithm(named: use.algorithm) else {
            throw TokenError(
                .badParameter, "unknown algorithm \u{201C}\(use.algorithm)\u{201D}",
                obstacle: .wrongAlgorithm)
        }
        try check(use, algorithm, registration)
        return CheckedUse(
            use: use, algorithm: algorithm,
            keyLabel: fault?.changes.keyOwner?(use.objectID, snapshot)?.label ?? registration.label,
            changeCount: snapshot.changeCount)
    }

    private func registration(
        _ label: String, _ snapshot: TokenCatalogue.Snapshot
    ) throws -> TokenRegistration {
        guard let registration = snapshot[label] else { throw TokenError.notRegistered(label) }
        guard registration.hasKey else { throw try missingKey() }
        return registration
    }

    /// Returns the error for a registration whose key does not exist.
    private func missingKey() throws -> TokenError {
        let hasPasscode = try deviceState.status().state.hasPasscode
        return TokenError(
            .objectNotFound,
            hasPasscode
                ? "the token's key was deleted" : "the token's key was deleted with the device's passcode",
            obstacle: hasPasscode ? .keyMissing : .passcodeRemoved)
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
        // ECIES decryption performs a key agreement, so the certificate's key usage must include keyAgreement.
        let isAllowed =
            registration.properties.allows(use.operation)
            || (algorithm.family == .ec && use.operation == .decrypt
                && registration.properties.canPerformKeyExchange)
        guard isAllowed else {
            throw TokenError(
                .badParameter,
                registration.certificate.keyUsage == nil
                    ? "the certificate has no key usage, so its key permits no operation"
                    : "the certificate's key usage does not allow this operation",
                obstacle: .usageForbids)
        }
        guard use.parameters.requestedSize <= Self.longestSecret else {
            throw TokenError(
                .badParameter, "a derivation produces at most \(Self.longestSecret) bytes",
                obstacle: .wrongLength)
        }
    }

    /// Returns the device's status. Throws if the keys are inaccessible in its state.
    @discardableResult
    private func requireUnlocked() throws -> DeviceStatus {
        let status = try deviceState.status()
        let state = status.state
        guard !TokenStore.accessibility.isAvailable(in: state) else { return status }
        guard state.hasPasscode else {
            throw TokenError(
                .objectNotFound, "the token's key was deleted with the device's passcode",
                obstacle: .passcodeRemoved
            )
        }
        throw TokenError(.authenticationNeeded, "the device is locked", obstacle: .deviceLocked)
    }

    /// Returns the key if it is open, may remain open in this state of the device, and requires no prompt.
    private func cached(
        _ checked: CheckedUse, _ status: DeviceStatus, _ isUserPresent: Bool
    ) -> PrivateKey? {
        let instant = now()
        return cache.withLock { cache in
            refresh(&cache, status, checked.changeCount, instant)
            guard let opened = cache.keys[checked.keyLabel], opened.hasConsent || isUserPresent else {
                return nil
            }
            return opened.key
        }
    }

    /// Closes the keys that must not remain open. A key's lifetime begins when it is opened; later uses do not extend
    /// it.
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
                return try key.perform(checked.use, checked.algorithm)
            } catch {
                throw reported(error)
            }
        }
    }

    /// The approximate duration of a key use. OpenSSL has optimized code for P-256, but not for P-384.
    private static func cost(of key: PrivateKey) -> OpenedTokenUse.Cost {
        switch key.type {
        case .rsa: key.bits <= 2_048 ? .moderate : .high
        default: key.bits <= 256 ? .low : .high
        }
    }
}

// MARK: - Errors

extension TokenExtension {
    /// Returns the error that the token's clients receive.
    private func reported(_ error: any Error) -> TokenError {
        let error = TokenError(ofKeyUse: error)
        return behaviour.isLikeTheSample ? error.likeTheSample : error
    }
}

extension TokenError {
    /// Translates an error of a key use.
    init(ofKeyUse error: any Error) {
        if let error = error as? TokenError {
            self = error
            return
        }
        switch (error as? KeychainError)?.code {
        case .interactionNotAllowed?:
            self.init(
                .authenticationNeeded, "the key cannot be used in the current state of the device",
                obstacle: .deviceLocked)
        case .itemNotFound?: self.init(.objectNotFound, "the token's key was deleted", obstacle: .keyMissing)
        case .decode?: self.init(.corruptedData, "the token's key was altered")
        default:
            if error is CancellationError {
                self.init(.canceledByUser, "the key use was cancelled", obstacle: .userCanceled)
            } else {
                self.init(.communicationError, "the token's key cannot be used: \(error)")
            }
        }
    }
}
