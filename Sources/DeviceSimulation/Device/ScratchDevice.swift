package import PrivateFiles
internal import LocalSockets
private import Foundation
private import Glibc

/// A place on a device for another device, on which something is tried: held by a lock as long as this object
/// lives.
///
/// A process that is killed leaves it behind, keys and all; the next that makes one removes those that nobody
/// holds.
package final class ScratchDevice: Sendable {
    /// Where the other device may be made: nothing is there yet. Short enough for a socket in it, unless the
    /// path of the first device is not.
    package let path: String
    private let trials: String
    private let runtimeDirectory: String?
    private let lock: FileLock

    /// Makes a place on `device`, once what others left behind is gone.
    ///
    /// - Parameter runtimeDirectory: where the sockets go whose path is too long.
    /// - Throws: `DeviceError` when nothing can be made there.
    package init(on device: Device, runtimeDirectory: String?) throws(FileError) {
        trials = try device.trialsFolder()
        self.runtimeDirectory = runtimeDirectory
        let gate = try Self.gate(trials)
        defer { gate.release() }
        let names = try PrivateFolder.names(trials).filter { !$0.hasPrefix(".") }
        for name in Set(names.map { $0.hasSuffix(Self.lockSuffix) ? String($0.dropLast(5)) : $0 }) {
            // What cannot be removed must not keep anybody from trying something new.
            let lock = try? FileLock.acquireIfFree(trials + "/" + name + Self.lockSuffix)
            if lock != nil { try? Self.remove(trials + "/" + name, runtimeDirectory) }
        }
        path = trials + "/" + String(UInt32.random(in: .min ... .max), radix: 16)
        lock = try FileLock.acquire(path + Self.lockSuffix)
    }

    /// Removes what was made there, its sockets elsewhere and the lock.
    ///
    /// - Throws: `DeviceError` when something cannot be removed; the next trial's beginning tries that again.
    package func end() throws(FileError) {
        let gate = try Self.gate(trials)
        defer { gate.release() }
        try Self.remove(path, runtimeDirectory)
        lock.release()
    }

    private static let lockSuffix = ".lock"

    /// Held while a lock's file is made or removed: nobody may lock one that is gone by then.
    private static func gate(_ trials: String) throws(FileError) -> FileLock {
        try FileLock.acquire(trials + "/.lock")
    }

    private static func remove(_ path: String, _ runtimeDirectory: String?) throws(FileError) {
        let name = Device.channelSocket
        let socket = Device.shortenedSocketPath(named: name, in: path, runtimeDirectory: runtimeDirectory)
        if let socket, "\(path)/\(name).sock".utf8.count > SocketPath.maximumLength {
            try AtomicFile.remove(socket)
            // It stays where others may come for it; for this one nobody does.
            try AtomicFile.remove(socket + lockSuffix)
        }
        if FileManager.default.fileExists(atPath: path) {
            try PrivateFolder.removeAll(path)
        }
        try AtomicFile.remove(path + lockSuffix)
    }
}
