package import ArgumentParser
package import DeviceSimulation
internal import Foundation

/// The simulated device that a command works on, and the socket of the provider.
package struct DeviceOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The simulated device's folder (or KEYSHARE_DEVICE; default: the user's data folder).",
            valueName: "dir"))
    package var device: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The provider's socket (or KEYSHARE_SOCKET; default: provider.sock in the device's folder).",
            valueName: "path"))
    package var socket: String?

    package init() {}

    package func validate() throws {
        if device == "" || socket == "" { throw ValidationError("--device and --socket take a path") }
    }

    /// Opens the device; its folder is made on first use.
    ///
    /// - Throws: `FileError` where the folder cannot be made or is not safe to use.
    package func openDevice() throws -> Device {
        try Device(folder: deviceFolder)
    }

    /// The device as it is. Nothing is made; nil where there is no device.
    ///
    /// - Throws: `FileError` where something other than a folder of ours is there.
    package func existingDevice() throws -> Device? {
        try Device(existing: deviceFolder)
    }

    /// The path of the provider's socket.
    ///
    /// - Throws: `DeviceError.Code.socketPathTooLong`, or `FileError` where the socket's folder cannot be made.
    package func socketPath(of device: Device) throws -> String {
        if let path = socket ?? environment("KEYSHARE_SOCKET") { return path }
        return try device.socketPath(runtimeDirectory: runtimeDirectory)
    }

    /// The folder for sockets of the user (`XDG_RUNTIME_DIR`); nil where the system has none.
    package var runtimeDirectory: String? { environment("XDG_RUNTIME_DIR") }

    private var deviceFolder: String {
        if let folder = device ?? environment("KEYSHARE_DEVICE") { return folder }
        // The XDG Base Directory Specification says that relative paths are to be ignored.
        let named = environment("XDG_DATA_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        // `$HOME` comes first: NSHomeDirectory() reads the entry of the user in passwd(5).
        let home = environment("HOME").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
        let data = named ?? home + "/.local/share"
        return data + "/keyshare"
    }

    private func environment(_ name: String) -> String? {
        let value = ProcessInfo.processInfo.environment[name]
        return value?.isEmpty == false ? value : nil
    }
}
