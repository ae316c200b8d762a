import Foundation
import Synchronization
import TestSupport
import Testing

/// The devices that suites prepare for each of their tests. Generating RSA keys takes seconds, so each device is created
/// once, and every test receives a copy.
enum PreparedDevices {
    /// The files and folders of devices, in the order of creation, keyed by the commands that created them.
    private static let devices = Mutex<[[[String]]: [Entry]]>([:])

    private struct Entry: Sendable {
        let path: String
        /// The bytes of a file; nil for a folder.
        let bytes: Data?
        let permissions: Int
    }

    /// Creates the device of a simulation that has none, by these commands of the provider.
    static func create(_ commands: [[String]], for simulation: Simulation) async throws {
        if let entries = devices.withLock({ $0[commands] }) {
            return try write(entries, to: simulation.device)
        }
        for command in commands {
            let run = try await simulation.provider(command)
            try #require(run.status == 0, "\(command): \(run.errors)")
        }
        let entries = try read(simulation.device)
        devices.withLock { $0[commands] = entries }
    }

    private static func read(_ device: String) throws -> [Entry] {
        let manager = FileManager.default
        let paths = ["."] + (manager.subpaths(atPath: device) ?? []).sorted()
        return try paths.map { path in
            let attributes = try manager.attributesOfItem(atPath: device + "/" + path)
            let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
            let permissions = try #require(attributes[.posixPermissions] as? NSNumber).intValue
            let bytes = isFolder ? nil : try Data(contentsOf: URL(fileURLWithPath: device + "/" + path))
            return Entry(path: path, bytes: bytes, permissions: permissions)
        }
    }

    private static func write(_ entries: [Entry], to device: String) throws {
        let manager = FileManager.default
        for entry in entries {
            let path = device + "/" + entry.path
            let attributes: [FileAttributeKey: Any] = [.posixPermissions: entry.permissions]
            if let bytes = entry.bytes {
                try #require(manager.createFile(atPath: path, contents: bytes, attributes: attributes))
            } else {
                try manager.createDirectory(
                    atPath: path, withIntermediateDirectories: entry.path == ".", attributes: attributes)
            }
        }
    }
}
