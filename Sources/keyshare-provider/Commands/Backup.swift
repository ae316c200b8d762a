import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import KeyShareProvider
import PrivateFiles

struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write what the provider's keychain holds to a file, also while it serves.",
        discussion: """
            The file is of one moment, sealed, mode 0600, and for this device: what its master key seals opens \
            nowhere else, and the master key is not in it. --key-file writes the key to what may leave the device, \
            which the provider's own identities and password may not. Both lie outside the device's folder.

            EXAMPLE:
              keyshare-provider backup provider.backup
            """)

    @Argument(help: ArgumentHelp("The file to write.", valueName: "file"))
    var file: String

    @Option(
        help: ArgumentHelp(
            "Write the key that another device needs to this file, mode 0600.", valueName: "file"))
    var keyFile: String?

    @Flag(help: "Replace files that are there.")
    var force = false

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws { try BackupFile.validate(file, keyFile) }

    func run() throws {
        let count = try ProviderStore(try device.openDevice())
            .backUp(to: file, keyPath: keyFile, replacing: force)
        try output.console.present(BackupDocument(items: count)) {
            output.console.note("wrote \(counted(count, "item", "items")) to \(file)")
        }
    }
}
