package import DeviceSimulation
internal import SimulatedKeychain

extension DeviceStateWatch {
    /// Checks that the provider's keys and password are accessible in the device's current state (docs/rules.md R6.11,
    /// R8.5).
    ///
    /// - Throws: `KeychainError` `.interactionNotAllowed` if they are not accessible; `DeviceError` if the state cannot
    ///   be read.
    package func requireOpen() throws {
        try Keychain.check(ProviderStore.accessibility, isAvailableIn: status().state)
    }
}
