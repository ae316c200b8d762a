/// When an item may be read, and whether it may leave the device (`kSecAttrAccessible`).
///
/// The raw values are Apple's, as `SecItem` attribute dumps show them.
package enum Accessibility: String, Sendable, Hashable, CaseIterable {
    /// While the device is unlocked.
    case whenUnlocked = "ak"
    /// From the first time the device was unlocked after a start.
    case afterFirstUnlock = "ck"
    /// At any time.
    case always = "dk"
    /// While the device is unlocked and has a passcode; gone when the passcode is removed.
    case whenPasscodeSetThisDeviceOnly = "akpu"
    /// While the device is unlocked; never restored to another device.
    case whenUnlockedThisDeviceOnly = "aku"
    /// From the first unlock after a start; never restored to another device.
    case afterFirstUnlockThisDeviceOnly = "cku"
    /// At any time; never restored to another device.
    case alwaysThisDeviceOnly = "dku"

    /// The constant's name without its prefix, such as `WhenUnlocked`.
    package var name: String {
        switch self {
        case .whenUnlocked: "WhenUnlocked"
        case .afterFirstUnlock: "AfterFirstUnlock"
        case .always: "Always"
        case .whenPasscodeSetThisDeviceOnly: "WhenPasscodeSetThisDeviceOnly"
        case .whenUnlockedThisDeviceOnly: "WhenUnlockedThisDeviceOnly"
        case .afterFirstUnlockThisDeviceOnly: "AfterFirstUnlockThisDeviceOnly"
        case .alwaysThisDeviceOnly: "AlwaysThisDeviceOnly"
        }
    }
}

extension Accessibility {
    /// Whether a secret of this kind may be read, added or changed while the device is in `state`.
    package func isAvailable(in state: DeviceState) -> Bool {
        switch self {
        case .whenPasscodeSetThisDeviceOnly: state.hasPasscode && state.lock == .unlocked
        case .whenUnlocked, .whenUnlockedThisDeviceOnly: state.lock == .unlocked
        case .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly: state.lock != .beforeFirstUnlock
        case .always, .alwaysThisDeviceOnly: true
        }
    }

    /// Whether an item of this kind stays behind when a backup goes to another device.
    package var isThisDeviceOnly: Bool {
        switch self {
        case .whenUnlocked, .afterFirstUnlock, .always: false
        case .whenPasscodeSetThisDeviceOnly, .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly,
            .alwaysThisDeviceOnly:
            true
        }
    }
}
