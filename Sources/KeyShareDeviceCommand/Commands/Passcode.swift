import ArgumentParser
import CommandSupport
import DeviceSimulation

struct Passcode: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passcode",
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
        try device.changeState(output) { device in
            switch passcode {
            case .set: try device.setPasscode()
            case .remove: try device.removePasscode()
            }
        }
    }
}
