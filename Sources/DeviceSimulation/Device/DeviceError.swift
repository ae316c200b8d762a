internal import PrivateFiles
package import Diagnostics

/// Why the simulated device refused something, apart from trouble with its files, which is a `FileError`.
package struct DeviceError: Failure {
    package static let domain = FailureDomain.device

    /// The kinds of refusal.
    package enum Code: Hashable, Sendable {
        /// A setting cannot be what it was set to.
        case invalidValue
        /// An entitlements file is no property list of groups.
        case invalidEntitlements
        /// An entitlements file names a group as none can be named.
        case invalidGroupName
        /// The device must be unlocked for this, and is not.
        case locked
        /// A provider serves from the device, which must not be erased meanwhile.
        case inUse
        /// The device is being erased.
        case beingErased
        /// The device's folder, or what is in it, went while it was in use.
        case gone
        /// The file is no backup of a keychain.
        case noBackup
        /// The backup is another device's, and no key to it was given.
        case foreignBackup
        /// The key that was given is not the one to the backup.
        case wrongBackupKey
        /// Every item of the backup belongs to another device alone.
        case nothingForThisDevice
        /// A backup, or the key to it, would be written into the device's own folder.
        case backupInsideDevice
        /// A backup and the key to it would be written to one file.
        case keyInBackupFile
        /// The keychain holds items that were not to be replaced.
        case keychainNotEmpty
        /// No path for the socket is short enough.
        case socketPathTooLong
        /// The app asks for a group that its entitlements do not name.
        case missingEntitlement(String)
    }

    /// The kind of refusal.
    package let code: Code
    /// The path of the file or folder that the error is about; empty where there is none.
    package let path: String
    /// One sentence about what happened, in lower case and without a full stop.
    package let reason: String
    /// Why the app is not entitled to the group; nil for other errors, and where nothing is known.
    package let gap: EntitlementGap?

    init(_ code: Code, path: String, _ reason: String, gap: EntitlementGap? = nil) {
        self.code = code
        self.path = path
        self.reason = reason
        self.gap = gap
    }
}
