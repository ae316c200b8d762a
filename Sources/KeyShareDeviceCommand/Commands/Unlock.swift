import ArgumentParser
import CommandSupport
import DeviceSimulation

struct Unlock: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlock the device, as with its passcode.",
        discussion: """
            EXAMPLE:
              keyshare-device unlock
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        try device.changeState(output) { try $0.unlock() }
    }
}
