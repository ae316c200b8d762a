import ArgumentParser
import CommandSupport
import DeviceSimulation
import KeyShareProvider

struct Clear: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Empty the provider's key chain: identities, authorities and password.",
        discussion: """
            EXAMPLE:
              keyshare-provider clear --yes
            """)

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let device = try device.openDevice()
        let store = try ProviderStore(device)
        try confirmation.confirm("Remove everything from the provider's key chain?")
        let count = try store.removeAll()
        try ServiceBehaviour.store(nil, on: device)
        try Notifications(device: device).post(Notifications.passwordChanged)
        if output.json {
            try console.document(["removed": count])
        } else {
            console.note("removed \(counted(count, "item", "items"))")
        }
    }
}
