/// The device's lock state: whether there is a passcode, and whether the device is unlocked.
///
/// A new device has a passcode and is unlocked. A device without a passcode cannot be locked.
package struct DeviceState: Sendable, Hashable {
    /// Whether the device is unlocked and, if not, whether it was unlocked since it was started.
    package enum Lock: String, Sendable, Hashable, CaseIterable {
        /// The device has not been unlocked since it was started.
        case beforeFirstUnlock = "before-first-unlock"
        /// The device was unlocked at least once since it was started, and is now locked.
        case locked
        /// The device is unlocked.
        case unlocked
    }

    /// Whether there is a passcode.
    package let hasPasscode: Bool
    /// Whether the device is unlocked; always `unlocked` without a passcode.
    package let lock: Lock

    /// Creates the state of a device with a passcode.
    package init(lock: Lock) {
        hasPasscode = true
        self.lock = lock
    }

    private init() {
        hasPasscode = false
        lock = .unlocked
    }

    /// The state of a new device.
    package static let new = DeviceState(lock: .unlocked)

    /// The state of a device without a passcode.
    package static let withoutPasscode = DeviceState()

    /// Every possible state.
    package static let all = Lock.allCases.map(DeviceState.init(lock:)) + [.withoutPasscode]
}

extension DeviceState {
    /// The state as a phrase that continues "the device is".
    package var phrase: String {
        guard hasPasscode else { return "without a passcode" }
        return switch lock {
        case .beforeFirstUnlock: "still locked after a restart"
        case .locked: "locked"
        case .unlocked: "unlocked"
        }
    }

    private static let noPasscode = "no-passcode"

    /// Parses a state from its `description`; nil for any other text.
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
    /// The state as one word: `unlocked`, `locked`, `before-first-unlock` or `no-passcode`.
    package var description: String { hasPasscode ? lock.rawValue : Self.noPasscode }
}

/// A device's state, and how many times the device has ended all granted access.
package struct DeviceStatus: Sendable, Hashable {
    /// The state itself.
    package let state: DeviceState
    /// The number of times that the device was locked or restarted, or that its passcode was set. Access that was
    /// granted under an earlier number has ended, even if the device is unlocked again.
    package let lockCount: UInt64

    /// The status of a new device.
    package static let new = DeviceStatus(state: .new, lockCount: 0)

    /// Parses a status from its `description`. A state without a number, which older versions wrote, has the number 0.
    package init?(_ text: some StringProtocol) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard (1...2).contains(words.count), let state = DeviceState(words[0]),
            let count = words.count == 1 ? 0 : UInt64(words[1])
        else { return nil }
        self.init(state: state, lockCount: count)
    }

    /// Creates a status from a state and the number of locks and restarts.
    package init(state: DeviceState, lockCount: UInt64) {
        self.state = state
        self.lockCount = lockCount
    }

    /// Returns this status with a new state. If `isClosing` is true, the change ends all granted access, and the count
    /// increases.
    package func changed(to state: DeviceState, isClosing: Bool) -> DeviceStatus {
        DeviceStatus(state: state, lockCount: isClosing ? lockCount &+ 1 : lockCount)
    }
}

extension DeviceStatus: CustomStringConvertible {
    /// The state as one word, a space, and the number of locks and restarts.
    package var description: String { "\(state) \(lockCount)" }
}
