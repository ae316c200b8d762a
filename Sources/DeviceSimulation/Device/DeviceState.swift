package import PrivateFiles

/// Whether the device has a passcode, and whether it is unlocked.
///
/// A new device has a passcode and is unlocked. One without a passcode cannot be locked.
package struct DeviceState: Sendable, Hashable {
    /// How far the user has unlocked the device.
    package enum Lock: String, Sendable, Hashable, CaseIterable {
        /// Not at all since the device was started.
        case beforeFirstUnlock = "before-first-unlock"
        /// Once since then, and it was locked again.
        case locked
        /// It is in use.
        case unlocked
    }

    /// Whether there is a passcode.
    package let hasPasscode: Bool
    /// How far it is unlocked; without a passcode always `unlocked`.
    package let lock: Lock

    /// A device with a passcode, locked or not.
    package init(lock: Lock) {
        hasPasscode = true
        self.lock = lock
    }

    private init() {
        hasPasscode = false
        lock = .unlocked
    }

    /// What a new device is in.
    package static let new = DeviceState(lock: .unlocked)

    /// A device without a passcode.
    package static let withoutPasscode = DeviceState()

    /// Every state there is.
    package static let all = Lock.allCases.map(DeviceState.init(lock:)) + [.withoutPasscode]
}

extension DeviceState {
    /// The state in a sentence that starts with "the device is".
    var words: String {
        guard hasPasscode else { return "without a passcode" }
        return switch lock {
        case .beforeFirstUnlock: "not unlocked since it started"
        case .locked: "locked"
        case .unlocked: "unlocked"
        }
    }

    private static let noPasscode = "no-passcode"

    /// The state that `text`, as `description` gives it, names.
    package init?(_ text: some StringProtocol) {
        if text == Self.noPasscode {
            self = .withoutPasscode
        } else if let lock = Lock(rawValue: String(text)) {
            self.init(lock: lock)
        } else {
            return nil
        }
    }
}

extension DeviceState: CustomStringConvertible {
    /// One word: `unlocked`, `locked`, `before-first-unlock` or `no-passcode`.
    package var description: String { hasPasscode ? lock.rawValue : Self.noPasscode }
}

/// A device's state, and how often it was closed to its user on the way there.
package struct DeviceStatus: Sendable, Hashable {
    package let state: DeviceState
    /// How many times the device was locked or restarted: what was allowed under an earlier number is over, also
    /// where the device is open again by now.
    package let lockCount: UInt64

    /// What a new device is in.
    package static let new = DeviceStatus(state: .new, lockCount: 0)

    /// The status that `text`, as `description` gives it, names.
    init?(_ text: some StringProtocol) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard (1...2).contains(words.count), let state = DeviceState(words[0]),
            let count = words.count == 1 ? 0 : UInt64(words[1])
        else { return nil }
        self.init(state: state, lockCount: count)
    }

    init(state: DeviceState, lockCount: UInt64) {
        self.state = state
        self.lockCount = lockCount
    }

    /// The same in another state, which is a lock or a restart or is not.
    func changed(to state: DeviceState, isClosing: Bool) -> DeviceStatus {
        DeviceStatus(state: state, lockCount: isClosing ? lockCount &+ 1 : lockCount)
    }
}

extension DeviceStatus: CustomStringConvertible {
    /// The state's word and the number.
    package var description: String { "\(state) \(lockCount)" }
}

extension Notifications {
    /// Posted when the device was locked, unlocked or restarted, or its passcode set or removed.
    package static let deviceStateChanged = "red.hound.keyshare.device-state"
}

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
                .locked, path: "", "the passcode can only be removed from an unlocked device",
                hint: "unlock the device")
        }
        // First the items: interrupted, there are none and a passcode, never the other way round.
        try KeychainStore.removeItemsThatNeedPasscode(of: self)
        try keep(status.changed(to: .withoutPasscode, isClosing: false))
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
        try? Notifications(device: self).post(Notifications.deviceStateChanged)
    }
}
