package import PrivateFiles

extension Device {
    /// Keeps the device from being erased for as long as the lock lives; any number may have one.
    ///
    /// The lock is the folder's own, so that it does not matter where a socket is, and nothing of it is left.
    ///
    /// - Throws: `DeviceError`: `.beingErased` while somebody has it alone.
    package func use() throws -> FileLock {
        guard let lock = try FileLock.acquireIfFree(folder: folder, isShared: true) else {
            throw DeviceError(
                .beingErased, path: folder, "the device in \(folder) is being erased",
                hint: "try again when that is done")
        }
        return lock
    }

    /// Makes sure that nobody has `use()` of the device for as long as the lock lives.
    ///
    /// - Throws: `DeviceError`: `.inUse` where somebody has.
    package func useAlone() throws -> FileLock {
        guard let lock = try FileLock.acquireIfFree(folder: folder, isShared: false) else {
            throw DeviceError(
                .inUse, path: folder, "a provider serves from this device", hint: "stop it first")
        }
        return lock
    }

    /// What it means that ``Observations`` of this device end and nobody asked for it.
    package var gone: DeviceError {
        DeviceError(
            .gone, path: folder, "the device in \(folder) has gone", hint: "it was erased or removed")
    }
}
