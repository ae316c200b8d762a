package import PrivateFiles

extension Device {
    /// The name of the file that holds the state.
    static let stateName = "state"

    private var statePath: String { folder + "/" + Self.stateName }
    private var stateLockPath: String { folder + "/state.lock" }

    /// The state that the device is in, as whoever changed it last in any process left it.
    ///
    /// - Throws: `DeviceError`: `.damagedFile` when the file says something else.
    package func state() throws(FileError) -> DeviceState { try status().state }

    /// The same, and how often the device was locked or restarted.
    ///
    /// - Throws: `DeviceError`: `.damagedFile` when the file says something else.
    package func status() throws(FileError) -> DeviceStatus {
        guard let bytes = try PrivateFile.open(statePath)?.read(atMost: 64) else { return .new }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.last == "\n", let status = DeviceStatus(text.dropLast()) else {
            throw FileError(.damagedFile, path: statePath, "\(statePath) names no state of a device")
        }
        return status
    }

    /// Unlocks the device, as the user does with the passcode.
    ///
    /// - Throws: `DeviceError` when the state cannot be read or kept.
    package func unlock() throws(FileError) {
        try change { status in
            status.changed(to: status.state.hasPasscode ? .new : status.state, isClosing: false)
        }
    }

    /// Locks the device. Without a passcode there is nothing to lock; before the first unlock it is locked
    /// already.
    ///
    /// - Throws: `DeviceError` when the state cannot be read or kept.
    package func lock() throws(FileError) {
        try change { status in
            guard status.state.hasPasscode, status.state.lock == .unlocked else { return status }
            return status.changed(to: DeviceState(lock: .locked), isClosing: true)
        }
    }

    /// Starts the device anew: with a passcode it waits for its first unlock.
    ///
    /// - Throws: `DeviceError` when the state cannot be read or kept.
    package func restart() throws(FileError) {
        try change { status in
            let state = status.state.hasPasscode ? DeviceState(lock: .beforeFirstUnlock) : status.state
            return status.changed(to: state, isClosing: true)
        }
    }

    /// Gives the device a passcode; it stays unlocked. Without effect when it has one.
    ///
    /// - Throws: `DeviceError` when the state cannot be read or kept, `KeychainError` when what is left of an
    ///   earlier passcode's items cannot be deleted.
    package func setPasscode() throws {
        let changing = try FileLock.acquire(stateLockPath)
        defer { changing.release() }
        let status = try status()
        guard !status.state.hasPasscode else { return }
        // One that was added while the earlier passcode was being removed must not come back with the new.
        try KeychainStore.removeItemsThatNeedPasscode(of: self)
        try keep(status.changed(to: .new, isClosing: false))
    }

    /// Takes the passcode away, and with it, for ever, the keychain's items that are kept only while there
    /// is one. Without effect when there is none.
    ///
    /// - Throws: `DeviceError`: `.locked` unless the device is unlocked. `KeychainError` when the items
    ///   cannot be deleted; the passcode stays then.
    package func removePasscode() throws {
        let changing = try FileLock.acquire(stateLockPath)
        defer { changing.release() }
        let status = try status()
        guard status.state.hasPasscode else { return }
        guard status.state.lock == .unlocked else {
            throw DeviceError(
                .locked, path: "", "the passcode can only be removed from an unlocked device")
        }
        // First the items: interrupted, there are none and a passcode, never the other way round.
        try KeychainStore.removeItemsThatNeedPasscode(of: self)
        try keep(status.changed(to: .withoutPasscode, isClosing: false))
    }

    /// Brings a device that is unlocked and has a passcode into `state`, as its user would.
    ///
    /// - Throws: `DeviceError`, `FileError`, or `KeychainError` where removing the passcode fails.
    package func enter(_ state: DeviceState) throws {
        guard state.hasPasscode else { return try removePasscode() }
        switch state.lock {
        case .unlocked: break
        case .locked: try lock()
        case .beforeFirstUnlock: try restart()
        }
    }

    private func change(_ body: (DeviceStatus) -> DeviceStatus) throws(FileError) {
        let changing = try FileLock.acquire(stateLockPath)
        defer { changing.release() }
        let status = try status()
        let next = body(status)
        if next != status { try keep(next) }
    }

    private func keep(_ status: DeviceStatus) throws(FileError) {
        try AtomicFile.write(Array("\(status)\n".utf8), to: statePath)
        // It is so by now, told or not: whoever must not miss it looks at the file.
        try? Notifications(device: self).post(.deviceStateChanged)
    }
}
