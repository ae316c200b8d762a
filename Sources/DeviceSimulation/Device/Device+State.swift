private import Glibc
package import PrivateFiles
package import SimulatedKeychain

extension Device {
    /// The name of the state file.
    static let stateName = "state"

    private var statePath: String { folder + "/" + Self.stateName }
    private var stateLockPath: String { folder + "/state.lock" }

    /// Reads the current state of the device from its file.
    ///
    /// - Throws: `FileError`: `.damagedFile` if the file has invalid contents, or another failure of the
    ///   file.
    package func state() throws(FileError) -> DeviceState { try status().state }

    /// Reads the device's state, and how many times the device has ended all granted access.
    ///
    /// - Throws: `FileError`: `.damagedFile` if the state's file has invalid contents, or another failure of the file.
    package func status() throws(FileError) -> DeviceStatus {
        guard let bytes = try PrivateFile.open(statePath)?.read(atMost: 64) else { return .new }
        let text = String(decoding: bytes, as: UTF8.self)
        // The status is padded with spaces to a fixed length; older versions wrote no padding.
        let isPadded = bytes.count == Self.lineLength
        let words = text.dropLast()
        let end = isPadded ? words.lastIndex { $0 != " " }.map(words.index(after:)) : words.endIndex
        guard text.last == "\n", let end, let status = DeviceStatus(words[..<end]) else {
            throw FileError(.damagedFile, path: statePath, "\(statePath) contains no valid device state")
        }
        return status
    }

    /// Unlocks the device, as a user does with the passcode.
    ///
    /// - Throws: `FileError` if the state cannot be read or written.
    package func unlock() throws(FileError) {
        try change { status in
            status.changed(to: status.state.hasPasscode ? .new : status.state, isClosing: false)
        }
    }

    /// Locks the device. Does nothing without a passcode, or before the first unlock, because the device is already
    /// locked.
    ///
    /// - Throws: `FileError` if the state cannot be read or written.
    package func lock() throws(FileError) {
        try change { status in
            guard status.state.hasPasscode, status.state.lock == .unlocked else { return status }
            return status.changed(to: DeviceState(lock: .locked), isClosing: true)
        }
    }

    /// Restarts the device. If it has a passcode, it then waits for the first unlock.
    ///
    /// - Throws: `FileError` if the state cannot be read or written.
    package func restart() throws(FileError) {
        try change { status in
            let state = status.state.hasPasscode ? DeviceState(lock: .beforeFirstUnlock) : status.state
            return status.changed(to: state, isClosing: true)
        }
    }

    /// Waits until no other process is changing the state, and prevents further changes until the lock is released.
    ///
    /// - Throws: `FileError` if the lock cannot be acquired.
    func lockState() throws(FileError) -> FileLock { try FileLock.acquire(stateLockPath) }

    /// Ends all granted access without changing the state. The caller holds ``lockState()``.
    ///
    /// - Throws: `FileError` if the state cannot be read or written.
    func endAccess() throws(FileError) {
        let status = try status()
        try keep(status.changed(to: status.state, isClosing: true))
    }

    /// Sets a passcode, leaves the device unlocked, and ends granted access. Does nothing if there is a passcode.
    ///
    /// - Throws: `FileError` if the state cannot be read or written; `KeychainError` if items that required
    ///   an earlier passcode cannot be deleted.
    package func setPasscode() throws {
        let changing = try FileLock.acquire(stateLockPath)
        defer { changing.release() }
        let status = try status()
        guard !status.state.hasPasscode else { return }
        // Another process may have added an item while the earlier passcode was being removed. It must not be readable
        // with the new passcode.
        try Keychain.removeItemsThatNeedPasscode(of: self)
        try keep(status.changed(to: .new, isClosing: true))
    }

    /// Removes the passcode together with its value (``DevicePasscode``), and deletes the keychain items of
    /// ``Accessibility/whenPasscodeSetThisDeviceOnly``. Does nothing if there is no passcode.
    ///
    /// - Throws: `DeviceError.Code.locked` unless the device is unlocked; `KeychainError` if the items cannot
    ///   be deleted, and then the passcode is kept; `FileError` if the state cannot be read or written.
    package func removePasscode() throws {
        let changing = try FileLock.acquire(stateLockPath)
        defer { changing.release() }
        let status = try status()
        guard status.state.hasPasscode else { return }
        guard status.state.lock == .unlocked else {
            throw DeviceError(
                .locked, path: "", "the passcode can only be removed from an unlocked device")
        }
        // The items are deleted first. After an interruption, a passcode without items may remain, but never items
        // without a passcode.
        try Keychain.removeItemsThatNeedPasscode(of: self)
        try DevicePasscode(self).forget()
        try keep(status.changed(to: .withoutPasscode, isClosing: false))
    }

    /// Changes the state of an unlocked device with a passcode to `state`, by the steps that a user would take.
    ///
    /// - Throws: `DeviceError`, `FileError`, or `KeychainError` if removing the passcode fails.
    package func enter(_ state: DeviceState) throws {
        guard state.hasPasscode else { return try removePasscode() }
        switch state.lock {
        case .unlocked: break
        case .locked: try lock()
        case .beforeFirstUnlock: try restart()
        }
    }

    /// The fixed size of the state file, in bytes.
    private static let lineLength = 48

    /// A status in the format of the file, padded to the fixed size. The longest status, which is before-first-unlock
    /// with the maximum number, has 40 bytes.
    private static func line(_ status: DeviceStatus) -> [UInt8] {
        let text = "\(status)"
        return Array(
            (text + String(repeating: " ", count: max(lineLength - 1 - text.utf8.count, 0)) + "\n").utf8)
    }

    private func change(_ body: (DeviceStatus) -> DeviceStatus) throws(FileError) {
        let changing = try FileLock.acquire(stateLockPath)
        defer { changing.release() }
        let status = try status()
        let next = body(status)
        if next != status { try keep(next) }
    }

    /// Creates missing files of the state, so that locking later needs no free disk space. A file that cannot be
    /// created now is created when the state changes.
    package func reserveState() {
        // If the lock is held, its holder is changing the state and creates the file. The holder may be the caller
        // itself, so waiting could deadlock.
        guard unsafe access(statePath, F_OK) != 0, let changing = try? FileLock.acquireIfFree(stateLockPath)
        else { return }
        defer { changing.release() }
        try? AtomicFile.write(Self.line(.new), to: statePath, replacing: false)
    }

    private func keep(_ status: DeviceStatus) throws(FileError) {
        let line = Self.line(status)
        do throws(FileError) {
            try AtomicFile.write(line, to: statePath)
        } catch {
            // A new file needs free disk space, which another program may have used up. The old file has the
            // same length, in one sector, and is overwritten instead.
            guard let file = try PrivateFile.open(statePath, isWritable: true), try file.overwrite(line)
            else {
                throw error
            }
        }
        // The state has changed even if the notification fails. Programs that must not miss a change read the
        // file.
        try? Notifications(device: self).post(.deviceStateChanged)
    }
}
