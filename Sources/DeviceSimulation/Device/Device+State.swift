package import PrivateFiles
private import Glibc

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
        // The file has blanks behind the status, up to a fixed length; those of older versions have none.
        let isPadded = bytes.count == Self.lineLength
        let words = text.dropLast()
        let end = isPadded ? words.lastIndex { $0 != " " }.map(words.index(after:)) : words.endIndex
        guard text.last == "\n", let end, let status = DeviceStatus(words[..<end]) else {
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

    /// Removes the passcode together with its value (``DevicePasscode``), and deletes the keychain items of
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
        try DevicePasscode(self).forget()
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

    /// The number of bytes of the state's file.
    private static let lineLength = 48

    /// A status as the file holds it, in a fixed number of bytes. The longest, of a device before its first unlock and
    /// with the greatest number, has 40.
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

    /// Makes the files of the state where they are missing, so that locking later needs no room on the disk. What cannot
    /// be made is made when the state changes.
    func reserveState() {
        // Whoever holds the lock is changing the state and makes the file; it may be the caller himself, who would wait
        // for ever.
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
            // A new file needs room on the disk, which another program may have filled. The old file has as many bytes,
            // in one sector, and takes the new ones in their place.
            guard let file = try PrivateFile.open(statePath, isWritable: true), try file.overwrite(line)
            else {
                throw error
            }
        }
        // The state has changed whether or not anybody is told; who must not miss a change reads the file.
        try? Notifications(device: self).post(.deviceStateChanged)
    }
}
