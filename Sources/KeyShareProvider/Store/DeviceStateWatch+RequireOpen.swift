package import DeviceSimulation

extension DeviceStateWatch {
    /// Throws if the device's state protects the provider's keys and password (docs/rules.md R6.11, R8.5).
    ///
    /// - Throws: `KeychainError`: `.interactionNotAllowed`; `DeviceError` if the state cannot be read.
    package func requireOpen() throws {
        try Keychain.check(ProviderStore.accessibility, isAvailableIn: status().state)
    }
}
