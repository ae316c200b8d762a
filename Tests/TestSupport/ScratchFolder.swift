package import DeviceSimulation
internal import Foundation

/// A folder for one test, removed with all its contents when the test releases it.
package final class ScratchFolder: Sendable {
    /// The absolute path of the folder, without a trailing slash; short enough for sockets in the folder.
    package let path: String

    /// Creates a folder that only this user can enter.
    ///
    /// - Throws: The error of the file system.
    package init() throws {
        path = "/tmp/ks-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Returns the absolute path of a file in the folder.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Opens the device in the subfolder `device`, and creates the device on first use.
    ///
    /// - Throws: `FileError`.
    package func device() throws -> Device { try Device(folder: path("device")) }

    /// Returns the permissions of the file or folder at an absolute path.
    ///
    /// - Throws: The error of the file system.
    package func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        guard let mode = attributes[.posixPermissions] as? NSNumber else {
            throw CocoaError(.fileReadUnknown)
        }
        return mode.intValue
    }

    /// Returns the names of all entries of the folder at an absolute path, including hidden ones, in
    /// ascending order.
    ///
    /// - Throws: The error of the file system.
    package func names(_ path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    /// Writes a file in the folder and returns its absolute path.
    ///
    /// - Throws: The error of the file system.
    package func write(_ bytes: [UInt8], as name: String) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
        return path(name)
    }

    /// Reads a file in the folder.
    ///
    /// - Throws: The error of the file system.
    package func read(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path(name))))
    }
}
