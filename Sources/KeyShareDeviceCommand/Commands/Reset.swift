import ArgumentParser
import CommandSupport
import DeviceSimulation
import PrivateFiles

struct Reset: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Erase the device: every app's keys and files, and its state.",
        discussion: """
            EXAMPLE:
              keyshare-device reset --yes
            """)

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let opened = try device.openDevice()
        let use = try opened.lockExclusively()
        defer { use.release() }
        try confirmation.confirm("Erase everything on the device in \(opened.folder)?")
        try opened.reset()
        try opened.begin()
        try output.console.present(DeviceStateDocument(try opened.state())) {
            output.console.note("the device was erased")
        }
    }
}
