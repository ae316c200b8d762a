package import PrivateFiles
internal import SecretMemory
package import Foundation
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

    /// Removes the files that writers left half done when they were killed, wherever they are on the device.
    ///
    /// Those that were touched within the last hour stay: somebody may be writing them.
    ///
    /// - Parameter now: the time by the clock of the file system.
    /// - Throws: `DeviceError` when one cannot be removed.
    /// - Returns: how many there were.
    @discardableResult
    package func clearUnfinished(now: Date) throws(FileError) -> Int {
        let keys: Set<URLResourceKey> = [.contentModificationDateKey, .isRegularFileKey]
        let files = FileManager.default.enumerator(
            at: URL(fileURLWithPath: folder), includingPropertiesForKeys: Array(keys))
        var count = 0
        while let file = files?.nextObject() as? URL {
            guard AtomicFile.isTemporary(file.lastPathComponent),
                let values = try? file.resourceValues(forKeys: keys), values.isRegularFile == true,
                let touched = values.contentModificationDate, touched < now - 3_600
            else { continue }
            do {
                try FileManager.default.removeItem(at: file)
                count += 1
            } catch {
                // Whoever removed it first did the same work.
                guard FileManager.default.fileExists(atPath: file.path) else { continue }
                throw .inputOutput("cannot remove", file.path, errno: EIO)
            }
        }
        return count
    }
}
