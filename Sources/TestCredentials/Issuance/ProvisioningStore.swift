internal import DeviceSimulation
package import KeyShareProvider
package import PrivateFiles
internal import SimulatedKeychain

/// The test PKI's part of a provider's keychain: its authorities, their register, and the state of provisioning runs.
package struct ProvisioningStore: Sendable {
    /// The provider's keychain, which also contains the generated identities.
    package let provider: ProviderStore

    /// Creates a view of the test PKI in `provider`.
    package init(_ provider: ProviderStore) {
        self.provider = provider
    }

    /// Waits until no other process is provisioning, and then prevents other processes from provisioning until the lock
    /// is released. Without the lock, two runs of one request would generate equal serial numbers, and one of two
    /// concurrent changes to the authorities' register would be lost.
    ///
    /// - Throws: `FileError` if the lock file cannot be created.
    package func lockProvisioning() throws -> FileLock {
        try FileLock.acquire(try provider.device.container(of: .provider) + "/provisioning.lock")
    }
}
