package import ArgumentParser
import CommandSupport

/// The command `keyshare-consumer`. Each subcommand has a file in `Commands`.
package struct ConsumerCommand: RootCommand {
    package static let configuration = CommandConfiguration(
        commandName: "keyshare-consumer",
        abstract: "Pick and import the credentials that a key-sharing provider publishes.",
        discussion: """
            EXAMPLE:
              keyshare-consumer browse --uti com.rsa.pkcs-12
              keyshare-consumer import Encryption.zip --uti public.zip-archive
              keyshare-consumer list

            \(ExitStatus.table)
            """,
        version: CommandMain.version,
        subcommands: [
            Browse.self, Import.self, Explain.self, ListImported.self, ShowImported.self,
            ClearImported.self, Verify.self, Inspect.self, Decrypt.self, Sign.self, TokenCommand.self,
            AliasRequests.self, Classify.self,
        ])

    package init() {}
}
