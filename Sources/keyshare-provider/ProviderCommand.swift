import ArgumentParser
import CommandSupport

@main
struct ProviderCommand: RootCommand {
    static let configuration = CommandConfiguration(
        commandName: "keyshare-provider",
        abstract: "Holds test credentials on a simulated device and shares them as PKCS #12 files.",
        discussion: """
            EXAMPLE:
              keyshare-provider provision
              keyshare-provider serve &
              keyshare-consumer browse

            \(ExitStatus.table)
            """,
        version: CommandMain.version,
        subcommands: [
            Provision.self, Faults.self, Import.self, List.self, Export.self, Serve.self, Password.self,
            Trust.self, Classify.self, Check.self, Backup.self, Restore.self, Merge.self, Clear.self,
        ])
}
