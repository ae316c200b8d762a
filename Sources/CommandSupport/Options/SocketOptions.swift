package import ArgumentParser
package import DeviceSimulation

/// The provider's socket, for the commands that listen on it or connect to it.
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
        if socket == "" { throw ValidationError("--socket needs a path") }
    }

    /// The path that the option or the environment specifies; nil if neither does.
    var named: String? { socket ?? DeviceOptions.environment("KEYSHARE_SOCKET") }

    /// Returns the path of the provider's socket.
    ///
    /// - Parameters:
    ///   - device: the device.
    ///   - making: whether to create the socket's folder if it is missing.
    /// - Throws: `DeviceError.Code.socketPathTooLong`, or `FileError` if the socket's folder cannot be created.
    package func path(of device: Device, making: Bool = true) throws -> String {
        if let path = named { return path }
        return try device.socketPath(
            runtimeDirectory: DeviceOptions.environment("XDG_RUNTIME_DIR"), making: making)
    }

    /// Returns the path of the provider's socket, for a command that does not otherwise use the device.
    ///
    /// - Throws: the errors of `DeviceOptions.openDevice()` and `path(of:making:)`, unless the option or the
    ///   environment specifies the socket.
    package func path(in device: DeviceOptions) throws -> String {
        if let path = named { return path }
        return try path(of: device.openDevice())
    }
}
