package import ArgumentParser
package import DeviceSimulation

/// The socket on which the provider serves, for the commands that serve on it or connect to it.
package struct SocketOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The provider's socket (or KEYSHARE_SOCKET; default: provider.sock in the device's folder).",
            valueName: "path"),
        completion: .file())
    package var socket: String?

    package init() {}

    package func validate() throws {
        if socket == "" { throw ValidationError("--socket takes a path") }
    }

    /// The path that the option or the environment names; nil where neither does.
    var named: String? { socket ?? DeviceOptions.environment("KEYSHARE_SOCKET") }

    /// The path of the provider's socket.
    ///
    /// - Parameters:
    ///   - device: the device.
    ///   - making: whether the socket's folder is made where it is missing.
    /// - Throws: `DeviceError.Code.socketPathTooLong`, or `FileError` where the socket's folder cannot be made.
    package func path(of device: Device, making: Bool = true) throws -> String {
        if let path = named { return path }
        return try device.socketPath(
            runtimeDirectory: DeviceOptions.environment("XDG_RUNTIME_DIR"), making: making)
    }

    /// The path of the provider's socket, for a command that needs nothing else of the device.
    ///
    /// - Throws: what `DeviceOptions.openDevice()` and `path(of:making:)` throw, unless the socket is named.
    package func path(in device: DeviceOptions) throws -> String {
        if let path = named { return path }
        return try path(of: device.openDevice())
    }
}
