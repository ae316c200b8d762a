internal import CertificateReading
public import ArgumentParser
package import DeviceSimulation
package import Foundation
package import KeySharing
internal import Glibc

/// What every command takes: how it talks.
package struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Write one JSON document to standard output instead of text.")
    package var json = false

    @Flag(name: .shortAndLong, help: "Say nothing on standard error but errors.")
    package var quiet = false

    @Flag(name: .shortAndLong, help: "Say more on standard error.")
    package var verbose = false

    package init() {}

    package func validate() throws {
        if quiet && verbose { throw ValidationError("--quiet and --verbose exclude each other") }
    }

    /// The console these options ask for.
    package var console: Console {
        Console(
            isJSON: json, verbosity: quiet ? .quiet : verbose ? .verbose : .normal,
            environment: ProcessInfo.processInfo.environment)
    }
}

/// Which simulated device a command works on.
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

    /// Opens the device, making its folder on first use.
    ///
    /// - Throws: `DeviceError` where the folder cannot be made or is not safe to use.
    package func openDevice() throws -> Device {
        try Device(folder: deviceFolder)
    }

    /// The device as it is, for a look at it: nothing is made; nil where there is none.
    ///
    /// - Throws: `DeviceError` where something else stands in its place.
    package func existingDevice() throws -> Device? {
        try Device(existing: deviceFolder)
    }

    /// The path of the provider's socket.
    ///
    /// - Throws: `DeviceError` where no usable path can be had.
    package func socketPath(of device: Device) throws -> String {
        if let path = socket ?? environment("KEYSHARE_SOCKET") { return path }
        return try device.socketPath(runtimeDirectory: runtimeDirectory)
    }

    /// The user's folder for sockets, where the system has one.
    package var runtimeDirectory: String? { environment("XDG_RUNTIME_DIR") }

    private var deviceFolder: String {
        if let folder = device ?? environment("KEYSHARE_DEVICE") { return folder }
        // The XDG specification has relative paths ignored.
        let named = environment("XDG_DATA_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        // Not NSHomeDirectory() first, which asks for the user's entry and not for $HOME.
        let home = environment("HOME").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
        let data = named ?? home + "/.local/share"
        return data + "/keyshare"
    }

    private func environment(_ name: String) -> String? {
        let value = ProcessInfo.processInfo.environment[name]
        return value?.isEmpty == false ? value : nil
    }
}

/// The clock, where validity matters.
package struct ClockOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Take this ISO 8601 date for now, such as 2026-03-01T12:00:00Z.", valueName: "date"),
        transform: ClockOptions.date)
    package var at: Date?

    package init() {}

    /// The time these options say it is.
    package var now: Date { at ?? Date() }

    /// Reads an ISO 8601 date, with a time or without one; a time without a zone is UTC.
    ///
    /// - Throws: `ValidationError` for anything else.
    package static func date(_ text: String) throws -> Date {
        guard let date = CertificateDate.date(text) else {
            throw ValidationError("\u{201C}\(text)\u{201D} is no ISO 8601 date")
        }
        guard CertificateDate.supported.contains(date) else {
            throw ValidationError("\u{201C}\(text)\u{201D} is outside the years 1900 to 2200")
        }
        return date
    }
}

extension Mechanism: ExpressibleByArgument {}
