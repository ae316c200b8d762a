import ArgumentParser
import CommandSupport
import DeviceSimulation

struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Bring another device's key chain to this one, as restoring its backup does.",
        discussion: """
            Items that are for their own device only stay behind, and what is here already stays as it is.
            Both devices must be unlocked.

            EXAMPLE:
              keyshare-device restore ~/old-phone --device ~/new-phone
            """)

    @Argument(help: ArgumentHelp("The other device's folder.", valueName: "dir"))
    var source: String

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        guard Device.isThere(folder: source) else {
            throw CommandFailure(.noSuchItem, "there is no device in \(source)")
        }
        let result = try device.openDevice().restoreKeychain(from: Device(folder: source))
        if output.json {
            try output.console.document(["restored": result.restored, "left": result.left])
        } else {
            output.console.note(
                "\(counted(result.restored, "item", "items")) came, \(result.left) stayed: for their own device only, or here already"
            )
        }
    }
}
