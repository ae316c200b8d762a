import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import KeyShareProvider

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
        if output.json {
            try output.console.document(["items": count])
        } else {
            output.console.note("wrote \(counted(count, "item", "items")) to \(file)")
        }
    }
}

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
        let device = try self.device.openDevice()
        do {
            do {
                result = try ProviderStore(device).restore(from: file, keyPath: keyFile, replacing: force)
            } catch let error as KeychainError where error.code == .invalidKeychain && force {
                let lock = try device.useAlone()
                defer { withExtendedLifetime(lock) {} }
                let recovered = try ProviderStore.recover(device, from: file, keyPath: keyFile)
                (result, recovery) = (recovered.restoration, recovered)
            }
        } catch let error as UnsoundBackup {
            for problem in error.problems {
                Console.standardError("\(problem.label.map { "\($0): " } ?? "")\(problem.reason)")
            }
            throw CommandFailure(
                .validationFailed, code: "unsound-backup", "an identity of the backup is not sound",
                hint: "nothing was replaced")
        }
        let failure = result.left == 0 ? nil : Self.incomplete(result)
        if output.json {
            try output.console.document(
                Document(
                    restored: result.restored, left: result.left, keptIn: recovery?.folder,
                    error: failure.map(FailureDocument.Body.init)))
        } else {
            if let recovery { output.console.note(recovery.words) }
            output.console.note("restored \(counted(result.restored, "item", "items"))")
        }
        if let failure {
            Console.failure(failure, of: CommandMain.programName)
            throw ReportedFailure(failure)
        }
    }

    private static func incomplete(_ result: KeychainRestoration) -> CommandFailure {
        CommandFailure(
            .refused, code: "left-behind",
            "\(counted(result.left, "item", "items")) of the backup stayed behind: for another device alone",
            hint: "keyshare-provider merge brings identities from one device to another")
    }

    private struct Document: Encodable {
        let restored: Int
        let left: Int
        let keptIn: String?
        let error: FailureDocument.Body?
    }
}

/// What the files of a backup may be called.
private enum BackupFile {
    /// Refuses `-`, which means standard input or output everywhere else and would name a file here: a database
    /// has to lie on disk.
    ///
    /// - Throws: `ValidationError`.
    static func validate(_ paths: String?...) throws {
        guard !paths.contains("-"), !paths.contains("") else {
            throw ValidationError("a backup and its key are files, not standard input or output")
        }
    }
}

extension KeychainRecovery {
    /// What became of the damaged keychain, in a line.
    var words: String {
        "the keychain was damaged: it is kept in \(folder), and \(counted(saved, "item", "items")) of other apps came along"
    }
}
