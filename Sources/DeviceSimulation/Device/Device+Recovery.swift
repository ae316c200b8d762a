package import PrivateFiles
package import Foundation
private import Glibc

extension Device {
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
