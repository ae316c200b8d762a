import ArgumentParser
import CommandSupport
import DeviceSimulation

struct Reset: ParsableCommand {
    static let configuration = CommandConfiguration(
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
        // A provider holds this lock as long as it serves.
        let lock: FileLock
        switch try FileLock.attempt(try device.socketPath(of: opened) + ".lock") {
        case .acquired(let acquired): lock = acquired
        case .alreadyHeld:
            throw CommandFailure(
                .refused, code: "provider-running", "a provider serves from this device",
                hint: "stop it first")
        }
        defer { withExtendedLifetime(lock) {} }
        try confirmation.confirm("Erase everything on the device in \(opened.folder)?")
        try opened.reset()
        if output.json {
            try output.console.document(["state": try opened.state().description])
        } else {
            output.console.note("the device is new")
        }
    }
}
