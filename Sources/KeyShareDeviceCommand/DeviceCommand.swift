package import ArgumentParser
import CommandSupport

/// The command `keyshare-device`. Its subcommands are in `Commands`.
package struct DeviceCommand: RootCommand {
    package static let configuration = CommandConfiguration(
        commandName: "keyshare-device",
        abstract: "Inspect and control the simulated device.",
        discussion: """
            EXAMPLE:
              keyshare-device status
              keyshare-device lock
              keyshare-device keychain --app provider
              keyshare-device channels

            \(ExitStatus.table)
            """,
        version: CommandMain.version,
        subcommands: [
            Status.self, Metrics.self, Apps.self, Unlock.self, Lock.self, Restart.self, Passcode.self,
            KeychainItems.self,
            Groups.self, PasteboardContent.self, Presence.self, Aliases.self, PKCS11.self, Web.self,
            Channels.self,
            RestoreDevice.self,
            Reset.self,
        ])

    package init() {}
}
