import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import KeyShareProvider
import PrivateFiles

struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Write the provider's keychain to a backup file, even while the provider is running.",
        discussion: """
            The backup is a snapshot of the keychain. It is encrypted with the master key of this device and does not \
            contain that key, so only this device can restore it. Token-only identities are not in the backup, because \
            their keys require a passcode.

            --key-file writes a key with which another device can restore the items that are not bound to this one. \
            The provider's own identities and password are bound to it. Both files must be outside the device's \
            folder and have mode 0600.

            EXAMPLE:
              keyshare-provider backup -o provider.backup
            """)

    @Argument(help: ArgumentHelp("The file to write.", valueName: "file"), completion: .file())
    var file: String?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("The file to write, instead of the argument.", valueName: "file"),
        completion: .file())
    var destination: String?

    @Option(
        help: ArgumentHelp(
            "Write the key that another device needs to this file, mode 0600.", valueName: "file"),
        completion: .file())
    var keyFile: String?

    @Flag(help: "Replace existing files.")
    var force = false

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (file == nil) != (destination == nil) else {
            throw ValidationError("specify exactly one file to write, either as an argument or with -o")
        }
        try BackupFile.validate(file, destination, keyFile)
    }

    func run() throws {
        guard let file = file ?? destination else { return }
        let store = try ProviderStore(try device.openDevice())
        let count = try store.backUp(to: file, keyPath: keyFile, replacing: force)
        try output.console.present(BackupDocument(items: count)) {
            output.console.note("wrote \(counted(count, "item", "items")) to \(file)")
        }
        // The backup is complete, so an error here must not change the exit code.
        let omitted = (try? TokenStore(store).unpublished().count(where: \.hasKey)) ?? 0
        if omitted > 0 {
            let words = counted(omitted, "token-only identity is", "token-only identities are")
            output.console.note("\(words) not in the backup: no backup contains keys that require a passcode")
        }
    }
}
