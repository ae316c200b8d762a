package import ArgumentParser
import CommandSupport

/// The command `keyshare-provider`. Its subcommands are in `Commands`.
package struct ProviderCommand: RootCommand {
    package static let configuration = CommandConfiguration(
        commandName: "keyshare-provider",
        abstract: "Store test credentials on a simulated device and share them as PKCS #12 files.",
        discussion: """
            EXAMPLE:
              keyshare-provider provision
              keyshare-provider serve &
              keyshare-consumer browse

            \(ExitStatus.table)
            """,
        version: CommandMain.version,
        subcommands: [
            Provision.self, Faults.self, Vectors.self, ConformanceCommand.self, ImportFiles.self,
            ListItems.self, ShowIdentity.self, Export.self, Mail.self, Serve.self, Password.self,
            Trust.self, Revoke.self, TokenRegistrationCommand.self, AliasAdministration.self,
            Classify.self, Check.self, Backup.self, RestoreProvider.self, Merge.self,
            ClearProvider.self,
        ])

    package init() {}
}
