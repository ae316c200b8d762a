package import DeviceSimulation
internal import OpenSSL

extension ProviderStore {
    /// Puts a new password in place of the service password. Files exported under the old one cannot be opened
    /// with what the service answers from now on.
    ///
    /// A provider that is running notices by the keychain's change count with the next question about an item.
    ///
    /// - Throws: `KeychainError`.
    package func rotateServicePassword() throws(KeychainError) {
        var random = RandomSource.system.generator()
        try keychain.setPassword(
            ServicePassword.random(using: &random), service: ServicePassword.serviceAndAccount,
            account: ServicePassword.serviceAndAccount, accessibility: Self.accessibility,
            accessGroup: sharedGroup)
    }
}

extension Notifications {
    /// Posted when the service password has been changed.
    package static let passwordChanged = "red.hound.keyshare.password-changed"
}
