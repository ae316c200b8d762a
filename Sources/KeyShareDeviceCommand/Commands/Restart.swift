import ArgumentParser
import CommandSupport
import DeviceSimulation

struct Restart: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restart",
        abstract: "Restart the device. With a passcode, it then waits for the first unlock.",
        discussion: """
            EXAMPLE:
              keyshare-device restart
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        try device.changeState(output) { try $0.restart() }
    }
}
