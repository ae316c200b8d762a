import Diagnostics
import ArgumentParser
import CommandSupport
import DeviceSimulation
import PrivateFiles
import KeyShareProvider

struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Put what a backup holds in place of what the provider's keychain holds.",
        discussion: """
            Every record is opened and every identity checked before anything is replaced, and then all is or \
            nothing is; a provider that is serving goes over to it at once. Of another device's backup, what is \
            that device's alone stays behind, which ends with 10; where that is all of it, nothing is replaced. \
            merge brings identities from one device to another.

            With --force also a keychain that is damaged is replaced. It is kept beside the new one, and what \
            still opens of other apps comes along; no provider may be serving.

            EXAMPLE:
              keyshare-provider restore provider.backup --force
            """)

    @Argument(help: ArgumentHelp("A file that backup wrote.", valueName: "file"))
    var file: String

    @Option(help: ArgumentHelp("The key to another device's backup.", valueName: "file"))
    var keyFile: String?

    @Flag(help: "Replace what the keychain holds.")
    var force = false

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws { try BackupFile.validate(file, keyFile) }

    func run() throws {
        let result: KeychainRestoration
        var recovery: KeychainRecovery?
        var problems: [IntegrityProblem] = []
        let device = try self.device.openDevice()
        do {
            do {
                result = try ProviderStore(device).restore(
                    from: file, keyPath: keyFile, replacing: force
                ) { problems.append($0) }
            } catch let error as KeychainError where error.code == .invalidKeychain && force {
                let lock = try device.lockExclusively()
                defer { lock.release() }
                let recovered = try ProviderStore.recover(device, from: file, keyPath: keyFile) {
                    problems.append($0)
                }
                (result, recovery) = (recovered.restoration, recovered)
            }
        } catch  where !problems.isEmpty {
            Console.problems(problems)
            throw CommandFailure(
                .validationFailed, code: "unsound-backup", "an identity of the backup is not sound",
                hint: "nothing was replaced")
        }
        let failure = result.left == 0 ? nil : Self.incomplete(result)
        let document = RestorationDocument(
            restored: result.restored, left: result.left, keptIn: recovery?.folder)
        try output.console.present(document, failure: failure) {
            if let recovery { output.console.note(recovery.words) }
            output.console.note("restored \(counted(result.restored, "item", "items"))")
        }
    }

    private static func incomplete(_ result: KeychainRestoration) -> CommandFailure {
        CommandFailure(
            .refused, code: "left-behind",
            "\(counted(result.left, "item", "items")) of the backup stayed behind: for another device alone",
            hint: "keyshare-provider merge brings identities from one device to another")
    }
}

extension KeychainRecovery {
    /// What became of the damaged keychain, as a line for the user.
    var words: String {
        "the keychain was damaged: it is kept in \(folder), and \(counted(saved, "item", "items")) of other apps came along"
    }
}
