import ArgumentParser
import CommandSupport
import DeviceSimulation
import KeyShareProvider

struct Password: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "password",
        abstract: "Manage the password service's password, without ever showing it.",
        discussion: """
            EXAMPLE:
              keyshare-provider password rotate
            """,
        subcommands: [Rotate.self])

    struct Rotate: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate",
            abstract: "Replace the password with a new one.",
            discussion: """
                A consumer that fetched the old password, but not yet the file, must fetch the password again. A \
                running provider uses the new password immediately.

                EXAMPLE:
                  keyshare-provider password rotate
                """)

        @OptionGroup var device: DeviceOptions
        @OptionGroup var output: OutputOptions

        func run() throws {
            let console = output.console
            let device = try device.makeDevice(noting: console.note)
            try ProviderStore(device).servicePassword.rotate()
            try console.present(RotationDocument()) {
                console.note("the password was replaced")
            }
        }
    }
}
