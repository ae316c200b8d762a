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
