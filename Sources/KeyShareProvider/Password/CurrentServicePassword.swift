internal import DeviceSimulation
internal import SecretMemory
internal import Synchronization

/// The service password that a running provider hands out: cached in memory, and read again when the keychain has
/// changed.
final class CurrentServicePassword: Sendable {
    private struct State {
        /// Nil before the first reading and after `forget()`.
        var password: SecretBytes?
        /// The keychain's change count at the time of reading; -1 where nothing was read.
        var generation: Int64 = -1
        var rotations: UInt64 = 0
    }

    private let store: ServicePasswordStore
    private let fixed: SecretBytes?
    private let state = Mutex(State())

    /// Caches the password of `store`.
    ///
    /// - Parameter fixed: stands in for the password in the keychain, which is never read then; nil for the
    ///   keychain's.
    init(_ store: ServicePasswordStore, fixed: SecretBytes?) {
        self.store = store
        self.fixed = fixed
    }

    /// How often a reading gave another password than the one before it. A change while the password was
    /// forgotten is not counted; a lock of the device, which ends grants by itself, made it forgotten.
    var rotations: UInt64 { state.withLock { $0.rotations } }

    /// The password as it was read last; read from the keychain where it was forgotten.
    ///
    /// - Throws: `KeychainError`, as `ServicePasswordStore.read()`.
    func password() throws(KeychainError) -> SecretBytes {
        if let known = fixed ?? state.withLock({ $0.password }) { return known }
        return try store.read()
    }

    /// Reads the password again if the keychain has changed since the last reading.
    ///
    /// - Parameter generation: the keychain's change count, taken before this call so that no change is missed.
    /// - Throws: `KeychainError`, as `ServicePasswordStore.read()`.
    func refresh(generation: Int64) throws(KeychainError) {
        guard fixed == nil else { return }
        // Reading under the lock keeps an earlier reading from replacing a later one.
        try state.withLock { state throws(KeychainError) in
            guard state.generation != generation else { return }
            let password = try store.read()
            if let old = state.password, old != password { state.rotations += 1 }
            state.password = password
            state.generation = generation
        }
    }

    /// Removes the password from memory, unless it is a fixed one.
    func forget() {
        state.withLock { state in
            state.password = nil
            state.generation = -1
        }
    }
}
