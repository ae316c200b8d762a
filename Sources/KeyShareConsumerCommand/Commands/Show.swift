import ArgumentParser
import CommandSupport
import DeviceSimulation
import KeyShareConsumer
import KeySharing
import OpenSSL

struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about one identity of the consumer's keychain.",
        discussion: """
            EXAMPLE:
              label=$(keyshare-consumer list --json | grep -om1 '[0-9A-F]\\{64\\}')
              keyshare-consumer show $label
            """)

    @Argument(
        help: "The identity's label or serial number, or enough of its start.", completion: .consumerLabels)
    var label: String

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let store = try ConsumerStore(try device.openDevice())
        let identity = try store.identity(named: label)
        let key = try store.privateKey(of: identity.summary.label)
        try console.present(
            HeldIdentityDocument(
                identity.certificate, key, accessibility: identity.accessibility,
                accessGroup: identity.accessGroup))
    }
}
