package import ArgumentParser
package import DeviceSimulation
internal import Foundation
private import Glibc

/// The option for the simulated device that a command uses.
package struct DeviceOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The folder of the simulated device (or KEYSHARE_DEVICE; default: ~/.local/share/keyshare).",
            valueName: "dir"),
        completion: .directory)
    package var device: String?

    package init() {}

    package func validate() throws {
        if device == "" { throw ValidationError("--device requires a path") }
    }

    /// Opens an existing device. Wipes expired pasteboard contents, because the command that wrote them may have ended
    /// before they expired.
    ///
    /// - Throws: `CommandFailure` (9) if the folder is missing or is not a device; `FileError` if it is not safe to
    ///   use.
    package func openDevice() throws -> Device {
        let folder = deviceFolder
        guard Device.isDevice(folder: folder) else {
            // This throws a more specific error if the path is anything other than a folder that belongs to this user.
            _ = try Device(existing: folder)
            throw Self.noDevice(in: folder)
        }
        let device = try Device(folder: folder)
        Pasteboard.wipeExpired(on: device, now: Date())
        return device
    }

    /// Opens the device like ``openDevice()``. On first use, creates it and reports that with `note`.
    ///
    /// - Throws: `CommandFailure` (73) if the folder contains other files and is not a device; `FileError` if it cannot
    ///   be created or is not safe to use.
    package func makeDevice(noting note: (String) -> Void) throws -> Device {
        let folder = deviceFolder
        let isDevice = Device.isDevice(folder: folder)
        // Between the two checks, another command can create the device.
        guard isDevice || Device.isFree(folder: folder) || Device.isDevice(folder: folder) else {
            throw CommandFailure(
                .cannotCreate, "\(folder) is neither empty nor a device\u{2019}s folder",
                hint: "choose an empty or new folder with --device or KEYSHARE_DEVICE")
        }
        let device = try Device(folder: folder)
        if isDevice {
            Pasteboard.wipeExpired(on: device, now: Date())
        } else {
            try device.begin()
            note("created a device in \(device.folder)")
        }
        return device
    }

    /// Returns an existing device. Unlike ``openDevice()``, does not change the mode of its folder.
    ///
    /// - Throws: `CommandFailure` (9) if there is no device; `FileError` if the path is anything other than a folder
    ///   that belongs to this user.
    package func untouchedDevice() throws -> Device {
        let folder = deviceFolder
        guard let device = try Device(existing: folder), Device.isDevice(folder: folder) else {
            throw Self.noDevice(in: folder)
        }
        return device
    }

    private static func noDevice(in folder: String) -> CommandFailure {
        CommandFailure(
            .noDevice, "there is no device in \(folder)",
            hint:
                "create one with keyshare-provider provision, or choose another folder with --device or KEYSHARE_DEVICE"
        )
    }

    /// The user's folder for sockets (`XDG_RUNTIME_DIR`); nil if the variable is not set.
    package var runtimeDirectory: String? { Self.environment("XDG_RUNTIME_DIR") }

    private var deviceFolder: String {
        device ?? Self.environment("KEYSHARE_DEVICE") ?? Self.defaultFolder
    }

    /// The folder of the default device, which the user's service serves.
    static var defaultFolder: String {
        // The XDG Base Directory Specification requires relative paths to be ignored.
        let named = Self.environment("XDG_DATA_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        // `$HOME` is tried first, because NSHomeDirectory() reads the user's passwd(5) entry.
        let home = Self.environment("HOME").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
        let data = named ?? home + "/.local/share"
        return data + "/keyshare"
    }

    /// Returns the value of an environment variable; nil if it is unset or empty. The variable must be in
    /// ``InvocationText/variables``, because invalid UTF-8 would become another value here.
    static func environment(_ name: String) -> String? {
        // ProcessInfo is not used, because it creates a dictionary of all variables each time.
        guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
        return unsafe String(cString: value)
    }
}
