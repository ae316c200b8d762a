internal import DeviceSimulation
internal import Diagnostics
internal import ZipBundles
internal import OpenSSL

extension CommandFailure {
    /// This failure with a hint on what `bytes` are, where they are a zip, PEM or a bare certificate and no
    /// PKCS #12 file.
    package func advising(on bytes: [UInt8]) -> CommandFailure {
        guard status == .malformed else { return self }
        if ZipBundle.isArchive(bytes) {
            return advising("this is a zip; keyshare-consumer import --file takes it")
        }
        if bytes.starts(with: Array("-----BEGIN ".utf8)) {
            return advising("this is PEM; keyshare-consumer classify shows certificates")
        }
        if (try? Certificate(der: bytes)) != nil {
            return advising("this is a certificate; keyshare-consumer classify shows it")
        }
        return self
    }
}

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
                "close the folders to others with chmod 700; keyshare-device reset makes the device anew"
            case .keychainFile: KeychainError.remedyOfDamage
            case .keychainRecords: KeychainError.remedyOfAlteration
            }
        self.init(.damaged, "the \(name) has \(counted(count, "problem", "problems"))", hint: hint)
    }
}
