package import PrivateFiles
package import SimulatedKeychain

extension Device {
    /// Acquires a shared lock of the device, for servers and long commands, so that no other process erases the device or
    /// replaces a damaged keychain while they run.
    ///
    /// The folder itself is locked: this also covers sockets in other folders, and leaves no lock file.
    ///
    /// - Throws: `DeviceError.Code.beingErased` while another process holds the exclusive lock; `FileError` if the
    ///   folder cannot be locked.
    package func lockShared() throws -> FileLock {
        guard let lock = try FileLock.acquireIfFree(folder: folder, isShared: true) else {
            throw DeviceError(.beingErased, path: folder, "the device in \(folder) is being erased")
        }
        return lock
    }

    /// Acquires the exclusive lock of the device, to erase the device or to replace its keychain.
    ///
    /// - Throws: `DeviceError.Code.inUse` while another process holds a lock, as every running provider does;
    ///   `FileError` if the folder cannot be locked.
    package func lockExclusively() throws -> FileLock {
        guard let lock = try FileLock.acquireIfFree(folder: folder, isShared: false) else {
            throw DeviceError(.inUse, path: folder, "a provider or another command is using this device")
        }
        return lock
    }

    /// The error for a device whose ``Observations`` ended without being stopped: the folder was removed.
    package var gone: DeviceError {
        DeviceError(.gone, path: folder, "the device in \(folder) was removed")
    }
}
