package import PrivateFiles

extension Device {
    /// The name of the file that holds the state.
    static let stateName = "state"

    private var statePath: String { folder + "/" + Self.stateName }
    private var stateLockPath: String { folder + "/state.lock" }

    /// Reads the state that the device is in, whichever process changed it last.
    ///
    /// - Throws: `FileError`: `.damagedFile` when the state's file holds something else, or trouble with the file.
    package func state() throws(FileError) -> DeviceState { try status().state }

    /// Reads the device's state and the number of times it was locked or restarted.
    ///
    /// - Throws: `FileError`: `.damagedFile` when the state's file holds something else, or trouble with the file.
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
    /// - Throws: `FileError` when the state cannot be read or written.
    package func unlock() throws(FileError) {
        try change { status in
            status.changed(to: status.state.hasPasscode ? .new : status.state, isClosing: false)
        }
    }

    /// Locks the device. Does nothing without a passcode, and before the first unlock, when it is locked already.
    ///
    /// - Throws: `FileError` when the state cannot be read or written.
    package func lock() throws(FileError) {
        try change { status in
            guard status.state.hasPasscode, status.state.lock == .unlocked else { return status }
            return status.changed(to: DeviceState(lock: .locked), isClosing: true)
        }
    }

    /// Restarts the device; with a passcode it then waits for the first unlock.
    ///
    /// - Throws: `FileError` when the state cannot be read or written.
    package func restart() throws(FileError) {
        try change { status in
            let state = status.state.hasPasscode ? DeviceState(lock: .beforeFirstUnlock) : status.state
            return status.changed(to: state, isClosing: true)
        }
    }

    /// Gives the device a passcode and leaves it unlocked. Does nothing when there is a passcode.
    ///
    /// - Throws: `FileError` when the state cannot be read or written; `KeychainError` when items that needed an
    ///   earlier passcode cannot be deleted.
    package func setPasscode() throws {
        let changing = try FileLock.acquire(stateLockPath)
        defer { changing.release() }
        let status = try status()
        guard !status.state.hasPasscode else { return }
        // An item that was added while the earlier passcode was being removed must not open under the new one.
        try KeychainStore.removeItemsThatNeedPasscode(of: self)
        try keep(status.changed(to: .new, isClosing: false))
    }

    /// Removes the passcode, and deletes the keychain items of
    /// ``Accessibility/whenPasscodeSetThisDeviceOnly``. Does nothing when there is no passcode.
    ///
    /// - Throws: `DeviceError.Code.locked` unless the device is unlocked; `KeychainError` when the items cannot be
    ///   deleted, and then the passcode stays; `FileError` when the state cannot be read or written.
    package func removePasscode() throws {
        let changing = try FileLock.acquire(stateLockPath)
        defer { changing.release() }
        let status = try status()
        guard status.state.hasPasscode else { return }
        guard status.state.lock == .unlocked else {
            throw DeviceError(
                .locked, path: "", "the passcode can only be removed from an unlocked device")
        }
        // The items go first: after an interruption there may be a passcode without items, never items without one.
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
        // The state has changed whether or not anybody is told; who must not miss a change reads the file.
        try? Notifications(device: self).post(.deviceStateChanged)
    }
}
