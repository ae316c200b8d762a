import ArgumentParser
import CommandSupport
import DeviceSimulation

struct Lock: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Lock the device. Has no effect without a passcode.",
        discussion: """
            EXAMPLE:
              keyshare-device lock
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        try device.changeState(output) { try $0.lock() }
    }
}
