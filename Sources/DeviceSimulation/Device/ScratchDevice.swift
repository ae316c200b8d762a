package import PrivateFiles
internal import LocalSockets
private import Foundation
private import Glibc

/// A folder on a device for another, temporary device. While this object exists, a lock shows that it is in use.
///
/// If a process is killed, its scratch device remains, including keys. The next process that creates a scratch device
/// removes all scratch devices whose lock is free.
package final class ScratchDevice: Sendable {
    /// The path for the temporary device, which does not exist yet. The name is short, so that a socket's path still
    /// fits in a socket address if the containing device's path leaves room.
    package let path: String
    private let trials: String
    private let runtimeDirectory: String?
    private let lock: FileLock

    /// Removes the unused scratch devices on `device`, and reserves a path for a new one.
    ///
    /// - Parameters:
    ///   - device: The device that contains the scratch devices.
    ///   - runtimeDirectory: The folder for sockets whose path would otherwise be too long; nil if there is none.
    /// - Throws: `FileError` if the folder or the lock cannot be created.
    package init(on device: Device, runtimeDirectory: String?) throws(FileError) {
        trials = try device.trialsFolder()
        self.runtimeDirectory = runtimeDirectory
        let gate = try Self.gate(trials)
        defer { gate.release() }
        let names = try PrivateFolder.names(trials).filter { !$0.hasPrefix(".") }
        for name in Set(names.map { $0.hasSuffix(Self.lockSuffix) ? String($0.dropLast(5)) : $0 }) {
            // If an unused device cannot be removed, the new one is still created.
            let lock = try? FileLock.acquireIfFree(trials + "/" + name + Self.lockSuffix)
            if lock != nil { try? Self.remove(trials + "/" + name, runtimeDirectory) }
        }
        path = trials + "/" + String(UInt32.random(in: .min ... .max), radix: 16)
        lock = try FileLock.acquire(path + Self.lockSuffix)
    }

    /// Removes the device at the path, its sockets in the runtime folder, and the lock.
    ///
    /// - Throws: `FileError` if a file cannot be removed; the creation of the next scratch device tries
    ///   again.
    package func end() throws(FileError) {
        let gate = try Self.gate(trials)
        defer { gate.release() }
        try Self.remove(path, runtimeDirectory)
        lock.release()
    }

    private static let lockSuffix = ".lock"

    /// Acquires the lock that protects the creation and removal of the scratch devices' locks, so that no
    /// process removes a device whose lock is being created.
    private static func gate(_ trials: String) throws(FileError) -> FileLock {
        try FileLock.acquire(trials + "/.lock")
    }

    private static func remove(_ path: String, _ runtimeDirectory: String?) throws(FileError) {
        let name = Device.channelSocket
        let socket = Device.shortenedSocketPath(named: name, in: path, runtimeDirectory: runtimeDirectory)
        if let socket, "\(path)/\(name).sock".utf8.count > SocketPath.maximumLength {
            try AtomicFile.remove(socket)
            // A provider's lock file outlives a killed provider, and no other provider will use this path.
            try AtomicFile.remove(socket + lockSuffix)
        }
        if FileManager.default.fileExists(atPath: path) {
            try PrivateFolder.removeAll(path)
        }
        try AtomicFile.remove(path + lockSuffix)
    }
}
