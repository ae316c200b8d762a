import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import SimulatedKeychain

struct RestoreDevice: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Copy the keychain of another device to this one, as if restored from a backup.",
        discussion: """
            Items that are bound to their device are not copied, and existing items are kept. Both devices must be \
            unlocked. The exit code is 10 if no item is copied.

            EXAMPLE:
              keyshare-device restore ~/old-phone --device ~/new-phone
            """)

    @Argument(help: ArgumentHelp("The other device's folder.", valueName: "dir"), completion: .directory)
    var source: String

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        // Opening a folder that is not a device would turn it into one.
        guard try Device.isThere(folder: source) else {
            throw CommandFailure(
                .noSuchItem, "there is no device with a keychain in \(source)",
                hint: "specify the folder of the device that was backed up")
        }
        let target = try device.makeDevice(noting: output.console.note)
        let source = try Device(folder: source)
        guard source != target else {
            throw CommandFailure(
                .usage, "the source and the target are the same device, \(source.folder)",
                hint: "specify the target device with --device")
        }
        let result: KeychainRestoration
        do {
            result = try target.restoreKeychain(from: source)
        } catch let error as DeviceError where error.code == .locked {
            throw CommandFailure(error).advising("unlock both devices")
        }
        let left =
            counted(result.left, "item was", "items were")
            + " skipped (bound to their device, or already present)"
        let nothing = CommandFailure(
            .notRestored, "nothing was restored: \(result.left == 0 ? "the other keychain is empty" : left)",
            hint: "to copy identities of the provider: keyshare-provider merge DIR")
        let document = RestorationDocument(restored: result.restored, left: result.left)
        try output.console.present(document, failure: result.restored == 0 ? nothing : nil) {
            if result.restored > 0 {
                let skipped = result.left == 0 ? "" : "; \(left)"
                output.console.note("restored \(counted(result.restored, "item", "items"))\(skipped)")
            }
        }
    }
}
