package import PrivateFiles
internal import SecretMemory
package import Foundation
private import Glibc
private import OpenSSL

extension Device {
    /// Finds faults in the device's folders and files, those inside the keychain left out: folders that others may
    /// enter, and a state or a pasteboard key that cannot be read. Nothing is changed.
    ///
    /// - Returns: a phrase for each fault; empty when all is well.
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

    /// Removes half-written files, which killed writers left anywhere on the device.
    ///
    /// A file that was written to within the last hour stays, because somebody may still be writing it.
    ///
    /// - Parameter now: the current time by the clock of the file system.
    /// - Throws: `FileError.Code.inputOutput` when a file cannot be removed.
    /// - Returns: the number of files that were removed.
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
                // Another process may have removed the file in between, which is as good.
                guard FileManager.default.fileExists(atPath: file.path) else { continue }
                throw .inputOutput("cannot remove", file.path, errno: EIO)
            }
        }
        return count
    }
}
