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

extension Device {
    private var statePath: String { folder + "/state" }
    private var stateLockPath: String { folder + "/state.lock" }

    /// The state that the device is in, as whoever changed it last in any process left it.
    ///
    /// - Throws: `DeviceError`: `.damagedFile` when the file says something else.
    package func state() throws(DeviceError) -> DeviceState {
        guard let bytes = try PrivateFile.open(statePath)?.read(atMost: 64) else { return .new }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.last == "\n", let state = DeviceState(text.dropLast()) else {
            throw DeviceError(.damagedFile, path: statePath, "\(statePath) names no state of a device")
        }
        return state
    }

    /// Unlocks the device, as the user does with the passcode.
    ///
    /// - Throws: `DeviceError` when the state cannot be read or kept.
    package func unlock() throws(DeviceError) {
        try change { state in state.hasPasscode ? DeviceState(lock: .unlocked) : state }
    }

    /// Locks the device. Without a passcode there is nothing to lock; before the first unlock it is locked
    /// already.
    ///
    /// - Throws: `DeviceError` when the state cannot be read or kept.
    package func lock() throws(DeviceError) {
        try change { state in
            state.hasPasscode && state.lock == .unlocked ? DeviceState(lock: .locked) : state
        }
    }

    /// Starts the device anew: with a passcode it waits for its first unlock.
    ///
    /// - Throws: `DeviceError` when the state cannot be read or kept.
    package func restart() throws(DeviceError) {
        try change { state in state.hasPasscode ? DeviceState(lock: .beforeFirstUnlock) : state }
    }

    /// Gives the device a passcode; it stays unlocked. Without effect when it has one.
    ///
    /// - Throws: `DeviceError` when the state cannot be read or kept, `KeychainError` when what is left of an
    ///   earlier passcode's items cannot be deleted.
    package func setPasscode() throws {
        let changing = try FileLock.acquire(stateLockPath)
        defer { withExtendedLifetime(changing) {} }
        guard try !state().hasPasscode else { return }
        // One that was added while the earlier passcode was being removed must not come back with the new.
        try KeychainStore.removeItemsThatNeedPasscode(of: self)
        try keep(.new)
    }

    /// Takes the passcode away, and with it, for ever, the key chain's items that are kept only while there
    /// is one. Without effect when there is none.
    ///
    /// - Throws: `DeviceError`: `.locked` unless the device is unlocked. `KeychainError` when the items
    ///   cannot be deleted; the passcode stays then.
    package func removePasscode() throws {
        let changing = try FileLock.acquire(stateLockPath)
        defer { withExtendedLifetime(changing) {} }
        let state = try state()
        guard state.hasPasscode else { return }
        guard state.lock == .unlocked else {
            throw DeviceError(.locked, path: "", "the passcode can only be removed from an unlocked device")
        }
        // First the items: interrupted, there are none and a passcode, never the other way round.
        try KeychainStore.removeItemsThatNeedPasscode(of: self)
        try keep(.withoutPasscode)
    }

    private func change(_ body: (DeviceState) -> DeviceState) throws(DeviceError) {
        let changing = try FileLock.acquire(stateLockPath)
        defer { withExtendedLifetime(changing) {} }
        let state = try state()
        let next = body(state)
        if next != state { try keep(next) }
    }

    private func keep(_ state: DeviceState) throws(DeviceError) {
        try AtomicFile.write(Array("\(state)\n".utf8), to: statePath)
    }
}
