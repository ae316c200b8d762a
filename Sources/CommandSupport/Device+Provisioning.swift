package import PrivateFiles
package import DeviceSimulation

extension Device {
    /// Waits until no other command adds identities to the provider's keychain, and keeps others from it while the
    /// lock is held. Two runs of one request would make equal serial numbers, and of two runs that write the
    /// authorities' register one would be lost.
    ///
    /// - Throws: `FileError` where the lock cannot be had.
    package func lockProvisioning() throws -> FileLock {
        try FileLock.acquire(try container(of: .provider) + "/provisioning.lock")
    }
}
