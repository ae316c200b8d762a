internal import CommandSupport
internal import DeviceSimulation
internal import Diagnostics
internal import KeyShareProvider
internal import SimulatedKeychain

/// A part of the device that can be damaged.
private enum DamagedPlace {
    /// The device's own files and folders.
    case device
    /// The keychain file as a whole.
    case keychainFile
    /// Single records of the keychain.
    case keychainRecords
}

extension CommandFailure {
    /// Creates the failure of a command that found this number of problems in a part of the device.
    private init(problems count: Int, in place: DamagedPlace) {
        let name = place == .device ? "device" : "keychain"
        let hint =
            switch place {
            case .device:
                "make the folders private with chmod 700, or reset the device: keyshare-device reset"
            case .keychainFile: KeychainError.remedyOfDamage
            case .keychainRecords: KeychainError.remedyOfAlteration
            }
        self.init(.damaged, "the \(name) has \(counted(count, "problem", "problems"))", hint: hint)
    }

    /// Creates the failure of a command that must not use a keychain or a device with these problems.
    init(damage problems: [IntegrityProblem]) {
        let place: DamagedPlace =
            if problems.contains(where: { $0.kind == .structure }) {
                .keychainFile
            } else {
                problems.contains { $0.kind != .device } ? .keychainRecords : .device
            }
        self.init(problems: problems.count, in: place)
    }
}
