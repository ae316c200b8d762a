internal import DeviceSimulation
internal import SecretMemory
internal import Synchronization

/// The service password of a running provider: cached in memory, and read again when the keychain has changed.
final class CurrentServicePassword: Sendable {
    private struct State {
        /// Nil before the first read and after `forget()`.
        var password: SecretBytes?
        /// The keychain's change count at the time of the read; -1 before the first read.
        var generation: Int64 = -1
        var rotations: UInt64 = 0
    }

    private let store: ServicePasswordStore
    private let fixed: SecretBytes?
    private let state = Mutex(State())

    /// Caches the password of `store`.
    ///
    /// - Parameter fixed: replaces the password in the keychain, which is never read then; nil to use the keychain.
    init(_ store: ServicePasswordStore, fixed: SecretBytes?) {
        self.store = store
        self.fixed = fixed
    }

    /// How many times a read returned a password that differs from the previous one. A change while the password was
    /// forgotten is not counted: the password is forgotten when the device is locked, which ends grants anyway.
    var rotations: UInt64 { state.withLock { $0.rotations } }

    /// Returns the last password that was read, or reads it if it was forgotten.
    ///
    /// - Throws: `KeychainError`, as `ServicePasswordStore.read()`.
    func password() throws(KeychainError) -> SecretBytes {
        if let known = fixed ?? state.withLock({ $0.password }) { return known }
        return try store.read()
    }

    /// Reads the password again if the keychain has changed since the last reading.
    ///
    /// - Parameter generation: the keychain's change count, read before this call so that no change is missed.
    /// - Throws: `KeychainError`, as `ServicePasswordStore.read()`.
    func refresh(generation: Int64) throws(KeychainError) {
        guard fixed == nil else { return }
        // Reading while holding the lock prevents an earlier read from replacing a later one.
        try state.withLock { state throws(KeychainError) in
            guard state.generation != generation else { return }
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
