package import Foundation
private import Glibc
private import OpenSSL
package import PrivateFiles
internal import SecretMemory
internal import SimulatedKeychain

extension Device {
    /// Finds problems in the device's folders and files, except those inside the keychain: folders and files that other
    /// users may enter or read, and an unreadable state or pasteboard key. Changes nothing.
    ///
    /// - Returns: A phrase for each problem; empty if there is none.
    package func problems() -> [String] {
        var problems: [String] = []
        for path in [folder] + Self.names.map({ folder + "/" + $0 }) {
            var status = stat()
            guard unsafe lstat(path, &status) == 0, [S_IFDIR, S_IFREG].contains(status.st_mode & S_IFMT),
                status.st_mode & 0o077 != 0
            else { continue }
            let mode = String(status.st_mode & 0o777, radix: 8)
            problems.append("other users have access to \(path): its mode is \(mode)")
        }
        do throws(FileError) {
            _ = try state()
        } catch {
            problems.append(error.reason)
        }
        do throws(FileError) {
            let path = folder + "/pasteboard/master.key"
            if let key = try MasterKey.read(path), key.count != SealingKey.byteCount {
                problems.append("the pasteboard's key \(path) does not have \(SealingKey.byteCount) bytes")
            }
        } catch {
            problems.append(error.reason)
        }
        return problems
    }

    /// Removes half-written files that killed writers left on the device.
    ///
    /// Files that were changed within the last hour remain, because a process may still be writing them.
    ///
    /// - Parameter now: The current time by the clock of the file system.
    /// - Throws: `FileError.Code.inputOutput` if a file cannot be removed.
    /// - Returns: The number of removed files.
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
                // Another process may have removed the file in the meantime.
                guard FileManager.default.fileExists(atPath: file.path) else { continue }
                throw .inputOutput("cannot remove", file.path, errno: EIO)
            }
        }
        return count
    }
}
