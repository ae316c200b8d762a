import ArgumentParser
import CommandSupport
import Diagnostics
import KeyShareConsumer

struct ClearImported: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Empty the consumer's keychain.",
        discussion: """
            EXAMPLE:
              keyshare-consumer clear --yes
            """)

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let store = try ConsumerStore(try device.openDevice())
        try confirmation.confirm("Remove everything from the consumer's keychain?")
        let count = try store.removeAll()
        try console.present(RemovalDocument(removed: count)) {
            console.note("removed \(counted(count, "item", "items"))")
        }
    }
}
