package import PrivateFiles
internal import LocalSockets
private import Foundation
private import Glibc

/// A folder on a device for another device that is used for a while and then removed. A lock says that it is in use as
/// long as this object lives.
///
/// A killed process leaves its scratch device behind, keys included; the next one to be made removes all whose lock is
/// free.
package final class ScratchDevice: Sendable {
    /// The path at which the other device may be made; nothing is there yet. The name is short, so that a socket's
    /// path still fits into an address where the first device's path leaves room.
    package let path: String
    private let trials: String
    private let runtimeDirectory: String?
    private let lock: FileLock

    /// Removes the scratch devices on `device` that nobody uses, and takes a path for a new one.
    ///
    /// - Parameters:
    ///   - device: the device that holds the scratch devices.
    ///   - runtimeDirectory: the folder for sockets whose path would be too long; nil where there is none.
    /// - Throws: `FileError` when the folder or the lock cannot be made.
    package init(on device: Device, runtimeDirectory: String?) throws(FileError) {
        trials = try device.trialsFolder()
        self.runtimeDirectory = runtimeDirectory
        let gate = try Self.gate(trials)
        defer { gate.release() }
        let names = try PrivateFolder.names(trials).filter { !$0.hasPrefix(".") }
        for name in Set(names.map { $0.hasSuffix(Self.lockSuffix) ? String($0.dropLast(5)) : $0 }) {
            // A leftover that cannot be removed does not stop a new device from being made.
            let lock = try? FileLock.acquireIfFree(trials + "/" + name + Self.lockSuffix)
            if lock != nil { try? Self.remove(trials + "/" + name, runtimeDirectory) }
        }
        path = trials + "/" + String(UInt32.random(in: .min ... .max), radix: 16)
        lock = try FileLock.acquire(path + Self.lockSuffix)
    }

    /// Removes the device that was made at the path, its sockets in the runtime folder, and the lock.
    ///
    /// - Throws: `FileError` when something cannot be removed; the next scratch device to be made tries again.
    package func end() throws(FileError) {
        let gate = try Self.gate(trials)
        defer { gate.release() }
        try Self.remove(path, runtimeDirectory)
        lock.release()
    }

    private static let lockSuffix = ".lock"

    /// Takes the lock under which the locks of scratch devices are made and removed, so that nobody removes a device
    /// whose lock is being made.
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
