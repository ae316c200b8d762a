import ArgumentParser
import CommandSupport

@main
struct DeviceCommand: RootCommand {
    static let configuration = CommandConfiguration(
        commandName: "keyshare-device",
        abstract: "Looks after the simulated device on which provider and consumer run.",
        discussion: """
            EXAMPLE:
              keyshare-device lock
              keyshare-device keychain --app provider
              keyshare-device channels

            \(ExitStatus.table)
            """,
        version: CommandMain.version,
        subcommands: [
            Apps.self, Unlock.self, Lock.self, Restart.self, Passcode.self, KeychainItems.self, Groups.self,
            PasteboardContent.self, Channels.self, Restore.self, Reset.self,
        ])
}
