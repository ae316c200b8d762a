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
            Provision.self, Faults.self, Vectors.self, ConformanceCommand.self, Import.self, List.self,
            Show.self,
            Export.self, Mail.self, Serve.self,
            Password.self, Trust.self, Revoke.self, Token.self, Alias.self, Classify.self, Check.self,
            Backup.self,
            Restore.self, Merge.self,
            Clear.self,
        ])

    package init() {}
}
