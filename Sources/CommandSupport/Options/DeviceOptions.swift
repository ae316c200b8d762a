package import ArgumentParser
package import DeviceSimulation
internal import Foundation
private import Glibc

/// The simulated device that a command works on.
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
        if device == "" { throw ValidationError("--device takes a path") }
    }

    /// Opens the device that is there, and makes none. What has expired on its pasteboard is wiped, because the command
    /// that put it there may have ended before.
    ///
    /// - Throws: `CommandFailure` (9) where the folder is missing or is no device's; `FileError` where it is not safe to
    ///   use.
    package func openDevice() throws -> Device {
        let folder = deviceFolder
        guard Device.isDevice(folder: folder) else {
            // Something other than a folder of ours, such as a file, is an error of its own.
            _ = try Device(existing: folder)
            throw Self.noDevice(in: folder)
        }
        let device = try Device(folder: folder)
        Pasteboard.wipeExpired(on: device, now: Date())
        return device
    }

    /// Opens the device, and makes it on first use; a note says so.
    ///
    /// - Throws: `CommandFailure` (73) where the folder holds other things and is no device's; `FileError` where it
    ///   cannot be made or is not safe to use.
    package func makeDevice(_ console: Console) throws -> Device {
        let folder = deviceFolder
        if Device.isDevice(folder: folder) { return try openDevice() }
        guard Device.isFree(folder: folder) else {
            throw CommandFailure(
                .cannotCreate, "\(folder) is not empty and is no device\u{2019}s folder",
                hint: "name a folder that is empty or missing with --device or KEYSHARE_DEVICE")
        }
        let device = try Device(folder: folder)
        try device.begin()
        console.note("made a new device in \(device.folder)")
        return device
    }

    /// The device as it is, without changing its folder's mode as opening does.
    ///
    /// - Throws: `CommandFailure` (9) where there is no device; `FileError` where something other than a folder of ours
    ///   is there.
    package func untouchedDevice() throws -> Device {
        let folder = deviceFolder
        guard let device = try Device(existing: folder), Device.isDevice(folder: folder) else {
            throw Self.noDevice(in: folder)
        }
        return device
    }

    /// The stable name of the failure that a folder is no device's.
    package static let noDeviceCode = "no-device"

    private static func noDevice(in folder: String) -> CommandFailure {
        CommandFailure(
            .noSuchItem, code: noDeviceCode, "there is no device in \(folder)",
            hint: "keyshare-provider provision makes one; --device or KEYSHARE_DEVICE names another folder")
    }

    /// The folder for sockets of the user (`XDG_RUNTIME_DIR`); nil where the system has none.
    package var runtimeDirectory: String? { Self.environment("XDG_RUNTIME_DIR") }

    private var deviceFolder: String {
        if let folder = device ?? Self.environment("KEYSHARE_DEVICE") { return folder }
        // The XDG Base Directory Specification says that relative paths are to be ignored.
        let named = Self.environment("XDG_DATA_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        // `$HOME` comes first: NSHomeDirectory() reads the entry of the user in passwd(5).
        let home = Self.environment("HOME").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
        let data = named ?? home + "/.local/share"
        return data + "/keyshare"
    }

    /// The value of an environment variable; nil where it is not set or empty.
    static func environment(_ name: String) -> String? {
        // Not through ProcessInfo, which makes a dictionary of all variables each time.
        guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
        return unsafe String(cString: value)
    }
}
