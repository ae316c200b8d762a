import ArgumentParser
import CommandSupport
import DeviceSimulation
import KeyShareProvider

struct Password: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manage the password service's password, without ever showing it.",
        discussion: """
            EXAMPLE:
              keyshare-provider password rotate
            """,
        subcommands: [Rotate.self])

    struct Rotate: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Put a new password in place of the old one.",
            discussion: """
                Every export made under the old password is void: a consumer that fetched the old one before and \
                the bytes after meets a wrong password and has to fetch again. A provider that is serving goes \
                over to the new one at once.

                EXAMPLE:
                  keyshare-provider password rotate
                """)

        @OptionGroup var device: DeviceOptions
        @OptionGroup var output: OutputOptions

        func run() throws {
            let console = output.console
            let device = try device.openDevice()
            try ProviderStore(device).servicePassword.rotate()
            try console.present(RotationDocument()) {
                console.note("the password service has a new password")
            }
        }
    }
}
