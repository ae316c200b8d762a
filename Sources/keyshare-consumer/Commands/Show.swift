import ArgumentParser
import CommandSupport
import DeviceSimulation
import KeyShareConsumer
import KeySharing
import OpenSSL

struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show everything about one identity of the consumer's keychain.",
        discussion: """
            EXAMPLE:
              keyshare-consumer show 3F1A
            """)

    @Argument(help: "The identity's label, or enough of its start.")
    var label: String

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let store = try ConsumerStore(try device.openDevice())
        let identity = try store.identity(labelled: label)
        let key = try store.privateKey(of: identity.summary.label)
        let document = HeldIdentityDocument(
            identity.certificate, key, accessibility: identity.accessibility,
            accessGroup: identity.accessGroup)
        try console.present(document) {
            try console.fields(document.certificate.fields + document.fields, indent: "")
        }
    }
}
