internal import PrivateFiles
internal import SecretMemory
private import Foundation
private import Glibc
private import OpenSSL

// The device for a look at it, and what is wrong with its own files.
extension Device {
    /// What is wrong with the device's own folders and files but for the keychain's, a phrase each: folders that
    /// others may enter, a state or a key of the pasteboard that cannot be read. Nothing is changed.
    package func problems() -> [String] {
        var problems: [String] = []
        for path in [folder] + Self.names.map({ folder + "/" + $0 }) {
            var status = stat()
            guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
                status.st_mode & 0o077 != 0
            else { continue }
            let mode = String(status.st_mode & 0o777, radix: 8)
            problems.append("\(path) is open to other users: its mode is \(mode)")
        }
        do throws(FileError) {
            _ = try state()
        } catch {
            problems.append(error.reason)
        }
        do throws(FileError) {
            let path = folder + "/pasteboard/master.key"
            if let key = try MasterKey.read(path), key.count != SealingKey.byteCount {
                problems.append("the pasteboard's key \(path) is not of \(SealingKey.byteCount) bytes")
            }
        } catch {
            problems.append(error.reason)
        }
        return problems
    }
}
