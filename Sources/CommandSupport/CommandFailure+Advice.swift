internal import DeviceSimulation
internal import Diagnostics

/// A place on the device that can be damaged.
package enum DamagedPlace: Sendable {
    /// The device's own files and folders.
    case device
    /// The file of the keychain as a whole.
    case keychainFile
    /// Single records of the keychain.
    case keychainRecords
}

extension CommandFailure {
    /// The failure of a command that found this number of problems in a place.
    package init(problems count: Int, in place: DamagedPlace) {
        let name = place == .device ? "device" : "keychain"
        let hint =
            switch place {
            case .device:
                "close the folders to others with chmod 700, or make the device anew: keyshare-device reset"
            case .keychainFile: KeychainError.remedyOfDamage
            case .keychainRecords: KeychainError.remedyOfAlteration
            }
        self.init(.damaged, "the \(name) has \(counted(count, "problem", "problems"))", hint: hint)
    }
}
