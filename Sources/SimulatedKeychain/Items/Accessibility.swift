/// An item's accessibility: when the secret may be read, and whether it may leave the device
/// (`kSecAttrAccessible`).
///
/// The raw values are those of Apple's constants, as in the attribute `pdmn` of `SecItem`.
package enum Accessibility: String, Sendable, Hashable, CaseIterable {
    /// Readable while the device is unlocked.
    case whenUnlocked = "ak"
    /// Readable from the first unlock after a restart.
    case afterFirstUnlock = "ck"
    /// Readable at any time.
    case always = "dk"
    /// Readable while the device is unlocked; deleted when the passcode is removed, and never restored to another
    /// device.
    case whenPasscodeSetThisDeviceOnly = "akpu"
    /// Readable while the device is unlocked; never restored to another device.
    case whenUnlockedThisDeviceOnly = "aku"
    /// Readable from the first unlock after a restart; never restored to another device.
    case afterFirstUnlockThisDeviceOnly = "cku"
    /// Readable at any time; never restored to another device.
    case alwaysThisDeviceOnly = "dku"

    /// The name of Apple's constant without `kSecAttrAccessible`, such as `WhenUnlocked`.
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
    /// Returns whether a secret of this accessibility may be read, added or changed while the device is in
    /// `state`.
    package func isAvailable(in state: DeviceState) -> Bool {
        switch self {
        case .whenPasscodeSetThisDeviceOnly: state.hasPasscode && state.lock == .unlocked
        case .whenUnlocked, .whenUnlockedThisDeviceOnly: state.lock == .unlocked
        case .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly: state.lock != .beforeFirstUnlock
        case .always, .alwaysThisDeviceOnly: true
        }
    }

    /// Whether an item of this accessibility is omitted when a backup is restored to another device.
    package var isThisDeviceOnly: Bool {
        switch self {
        case .whenUnlocked, .afterFirstUnlock, .always: false
        case .whenPasscodeSetThisDeviceOnly, .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly,
            .alwaysThisDeviceOnly:
            true
        }
    }
}
