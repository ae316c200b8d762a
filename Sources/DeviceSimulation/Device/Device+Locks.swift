internal import Diagnostics
package import PrivateFiles

extension Device {
    /// Takes the device's lock together with all who serve from it, so that nobody erases the device meanwhile.
    ///
    /// The folder itself is locked: a socket elsewhere makes no difference, and no file is left of the lock.
    ///
    /// - Throws: `DeviceError.Code.beingErased` while somebody holds the lock alone; `FileError` where the folder
    ///   cannot be locked.
    package func lockShared() throws -> FileLock {
        guard let lock = try FileLock.acquireIfFree(folder: folder, isShared: true) else {
            throw DeviceError(.beingErased, path: folder, "the device in \(folder) is being erased")
        }
        return lock
    }

    /// Takes the device's lock alone, to erase the device or to replace its keychain.
    ///
    /// - Throws: `DeviceError.Code.inUse` while anybody holds the lock, as every provider does that serves;
    ///   `FileError` where the folder cannot be locked.
    package func lockExclusively() throws -> FileLock {
        guard let lock = try FileLock.acquireIfFree(folder: folder, isShared: false) else {
            throw DeviceError(.inUse, path: folder, "a provider serves from this device")
        }
        return lock
    }

    /// The error for a device whose ``Observations`` ended although nobody stopped them: the folder has gone.
    package var gone: DeviceError {
        DeviceError(.gone, path: folder, "the device in \(folder) has gone")
    }
}
