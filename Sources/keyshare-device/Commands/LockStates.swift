import ArgumentParser
import CommandSupport
import DeviceSimulation

struct Unlock: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Unlock the device, as with its passcode.",
        discussion: """
            EXAMPLE:
              keyshare-device unlock
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        try change(device, output) { try $0.unlock() }
    }
}

struct Lock: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lock the device. Without a passcode there is nothing to lock.",
        discussion: """
            EXAMPLE:
              keyshare-device lock
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        try change(device, output) { try $0.lock() }
    }
}

struct Restart: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Restart the device: with a passcode it waits for its first unlock.",
        discussion: """
            EXAMPLE:
              keyshare-device restart
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        try change(device, output) { try $0.restart() }
    }
}

struct Passcode: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Set the passcode or remove it; removing it deletes what is kept only with one.",
        discussion: """
            EXAMPLE:
              keyshare-device passcode remove --yes
            """)

    enum Change: String, CaseIterable, ExpressibleByArgument {
        case set
        case remove
    }

    @Argument(help: "What to do with it.")
    var passcode: Change

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        if passcode == .remove {
            try confirmation.confirm("Remove the passcode, and every key that is kept only with one?")
        }
        try change(device, output) { device in
            switch passcode {
            case .set: try device.setPasscode()
            case .remove: try device.removePasscode()
            }
        }
    }
}

/// Changes the device's state and says what it is now.
private func change(
    _ options: DeviceOptions, _ output: OutputOptions, _ body: (Device) throws -> Void
) throws {
    let device = try options.openDevice()
    try body(device)
    let state = try device.state()
    if output.json {
        try output.console.document(["state": state.description])
    } else {
        output.console.note("the device is \(state)")
    }
}
