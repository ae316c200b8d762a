internal import PrivateFiles
internal import Diagnostics

/// The reason why the simulated device rejected an operation. Failures of its files are `FileError`s instead.
package struct DeviceError: Failure {
    /// The kinds of rejection.
    package enum Code: Hashable, Sendable {
        /// The value of a setting is not allowed.
        case invalidValue
        /// The device stores no more permissions of apps or key grants.
        case tooManyDecisions
        /// An entitlements file is not a property list of groups.
        case invalidEntitlements
        /// An entitlements file contains an invalid group name.
        case invalidGroupName
        /// The operation requires an unlocked device.
        case locked
        /// A provider is serving from the device, so the device must not be erased.
        case inUse
        /// The device is being erased.
        case beingErased
        /// The device's folder, or its contents, were removed while it was in use.
        case gone
        /// The file is not a backup of a keychain.
        case noBackup
        /// The backup is from another device, and its key is missing.
        case foreignBackup
        /// The given key does not belong to the backup.
        case wrongBackupKey
        /// Every item of the backup is bound to another device.
        case nothingForThisDevice
        /// A backup, or the key to it, would be written into the device's own folder.
        case backupInsideDevice
        /// A backup and its key would be written to the same file.
        case keyInBackupFile
        /// The keychain contains items that must not be replaced.
        case keychainNotEmpty
        /// No path for the socket is short enough.
        case socketPathTooLong
        /// The app's entitlements do not contain the requested group.
        case missingEntitlement(String)
    }

    /// The kind of rejection.
    package let code: Code
    /// The path of the file or folder; empty if there is none.
    package let path: String
    /// One sentence about the failure, in lower case and without a full stop.
    package let reason: String
    /// The reason why the app is not entitled to the group; nil for other errors, or if unknown.
    package let gap: EntitlementGap?

    /// Creates an error.
    package init(_ code: Code, path: String, _ reason: String, gap: EntitlementGap? = nil) {
        self.code = code
        self.path = path
        self.reason = reason
        self.gap = gap
    }
}
