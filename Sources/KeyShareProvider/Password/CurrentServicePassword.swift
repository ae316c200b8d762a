internal import DeviceSimulation
internal import SecretMemory
internal import SimulatedKeychain
internal import Synchronization

/// The service password of a running provider: cached in memory, and read again when the keychain has changed.
final class CurrentServicePassword: Sendable {
    private struct State {
        /// The password that was last read; nil before the first read and after `forget()`.
        var password: SecretBytes?
        /// The keychain's change count before the last read; -1 before the first read and after `forget()`.
        var generation: Int64 = -1
        var rotations: UInt64 = 0
        /// The password to use instead of the keychain's.
        var fixed: SecretBytes?
    }

    private let store: ServicePasswordStore
    private let state: Mutex<State>

    /// Creates a cache for the password of `store`. Reads nothing yet.
    ///
    /// - Parameter fixed: A password to use instead of the keychain's, which is then never read; nil to use the
    ///   keychain's.
    init(_ store: ServicePasswordStore, fixed: SecretBytes?) {
        self.store = store
        state = Mutex(State(fixed: fixed))
    }

    /// Replaces the fixed password, or uses the keychain's instead of it if `fixed` is nil. A change counts as a
    /// rotation.
    func replaceFixed(_ fixed: SecretBytes?) {
        state.withLock { state in
            guard state.fixed != fixed else { return }
            state.fixed = fixed
            state.rotations += 1
            state.password = nil
            state.generation = -1
        }
    }

    /// How many times a read returned a password that differs from the previous one. A change is not counted if the
    /// password was removed from memory in the meantime. This happens only after a restart of the device, which also
    /// ends all grants.
    var rotations: UInt64 { state.withLock { $0.rotations } }

    /// Returns the fixed password or the last password that was read. If neither exists, reads the keychain.
    ///
    /// - Throws: `KeychainError`, as `ServicePasswordStore.read()`.
    func password() throws(KeychainError) -> SecretBytes {
        if let known = state.withLock({ $0.fixed ?? $0.password }) { return known }
        return try store.read()
    }

    /// Reads the password again if the keychain has changed since the last reading.
    ///
    /// - Parameter generation: The keychain's change count, read before this call so that no change is missed.
    /// - Throws: `KeychainError`, as `ServicePasswordStore.read()`.
    func refresh(generation: Int64) throws(KeychainError) {
        // Reading while holding the lock prevents an earlier read from replacing a later one.
        try state.withLock { state throws(KeychainError) in
            guard state.fixed == nil, state.generation != generation else { return }
            let password = try store.read()
            if let old = state.password, old != password { state.rotations += 1 }
            state.password = password
            state.generation = generation
        }
    }

    /// Removes the password from memory, unless it is fixed.
    func forget() {
        state.withLock { state in
            state.password = nil
            state.generation = -1
        }
    }
}
