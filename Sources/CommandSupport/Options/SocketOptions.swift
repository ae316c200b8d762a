package import ArgumentParser
package import DeviceSimulation
internal import Foundation
internal import LocalSockets

/// The provider's socket, for the commands that listen on it or connect to it.
package struct SocketOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            The provider's socket (or KEYSHARE_SOCKET; default: provider.sock in the device's folder, or the socket of \
            the user's service).
            """,
            valueName: "path"),
        completion: .file())
    package var socket: String?

    package init() {}

    package func validate() throws {
        if socket == "" { throw ValidationError("--socket requires a path") }
    }

    /// The path that the option or the environment specifies; nil if neither does.
    var named: String? { socket ?? DeviceOptions.environment("KEYSHARE_SOCKET") }

    /// Returns the path of the socket on which the device's provider listens. Creates the socket's folder if it is
    /// missing.
    ///
    /// - Throws: `DeviceError.Code.socketPathTooLong`, or `FileError` if the socket's folder cannot be created.
    package func listeningPath(of device: Device) throws -> String {
        try named ?? device.socketPath(runtimeDirectory: DeviceOptions.environment("XDG_RUNTIME_DIR"))
    }

    /// Returns the path of the socket to connect to: the named one, the device's own, or, for the default device, the one
    /// that systemd passes to the user's service. If neither exists, the device's own.
    ///
    /// - Throws: `DeviceError.Code.socketPathTooLong`.
    package func path(of device: Device) throws -> String {
        if let path = named { return path }
        let own = try device.socketPath(
            runtimeDirectory: DeviceOptions.environment("XDG_RUNTIME_DIR"), creatingFolder: false)
        guard let service = Self.servicePath(of: device), Self.exists(service) else { return own }
        // A provider that was killed leaves its socket.
        return Self.exists(own) && PeerIdentity.listener(at: own) != nil ? own : service
    }

    /// Returns the path of the socket to connect to, for a command that needs a provider and does not otherwise use the
    /// device.
    ///
    /// - Throws: The errors of `DeviceOptions.openDevice()` and ``path(of:)``, unless the socket is named;
    ///   `SocketError.Code.notRunning` if the default device has neither its own socket nor that of the service.
    package func path(in options: DeviceOptions) throws -> String {
        if let path = named { return path }
        let device = try options.openDevice()
        let path = try path(of: device)
        if let service = Self.servicePath(of: device), !Self.exists(path) {
            throw SocketError(.notRunning, "no provider listens at \(path) or \(service)")
        }
        return path
    }

    /// The path of the socket that the systemd unit `keyshare-provider.socket` creates; nil if the device is not the
    /// default one, or the user has no runtime folder.
    private static func servicePath(of device: Device) -> String? {
        guard let runtime = DeviceOptions.environment("XDG_RUNTIME_DIR"),
            URL(fileURLWithPath: DeviceOptions.defaultFolder).resolvingSymlinksInPath().path == device.folder
        else { return nil }
        let path = runtime + "/keyshare/provider.sock"
        return SocketPath.isUsable(path) ? path : nil
    }

    private static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
}
