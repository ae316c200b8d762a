import ArgumentParser
import CertificateReading
import CommandSupport
import DeviceSimulation
import Diagnostics
import KeyShareProvider
import KeySharing
import PrivateFiles
import SimulatedKeychain
import TestCredentials

struct RestoreProvider: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Replace the contents of the provider's keychain with those of a backup.",
        discussion: """
            The command checks every record and identity before it replaces the contents, completely or not at all. A \
            running provider uses the restored keychain immediately. Items that are bound to another device are not \
            restored, and the exit code is then 10. If all items are bound to another device, nothing is replaced. To \
            copy identities from one device to another, use merge. Token-only identities are in no backup, so --force \
            deletes them.

            --force also replaces a keychain in which check finds damage or altered records. It is kept next to the \
            new one, and the items of other apps that can still be opened are copied to the new one. No provider may \
            be running in that case.

            EXAMPLE:
              keyshare-provider restore provider.backup --force
            """)

    @Argument(help: ArgumentHelp("A file that backup wrote.", valueName: "file"), completion: .file())
    var file: String

    @Option(help: ArgumentHelp("The key to another device's backup.", valueName: "file"), completion: .file())
    var keyFile: String?

    @Flag(help: "Replace the contents of a keychain that is not empty.")
    var force = false

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws { try BackupFile.validate(file, keyFile) }

    func run() throws {
        let result: KeychainRestoration
        var recovery: KeychainRecovery?
        var problems: [IntegrityProblem] = []
        let device = try self.device.makeDevice(noting: output.console.note)
        let unsaved = force ? Self.tokenOnlyIdentities(on: device) : []
        do {
            // Another process may replace a damaged keychain before this one has the lock.
            let lock = try force && isDamaged(device) ? device.lockExclusively() : nil
            defer { lock?.release() }
            if try lock != nil && isDamaged(device) {
                let recovered = try ProviderStore.recover(
                    device, from: file, keyPath: keyFile, report: { problems.append($0) },
                    replaced: { output.console.note($0.words) })
                (result, recovery) = (recovered.restoration, recovered)
            } else {
                let store = try ProviderStore(device)
                let lock = try ProvisioningStore(store).lockProvisioning()
                defer { lock.release() }
                result = try store.restore(
                    from: file, keyPath: keyFile, replacing: force
                ) { problems.append($0) }
            }
        } catch  where !problems.isEmpty {
            Console.problems(problems)
            throw CommandFailure(
                .unsoundBackup, "an identity of the backup is invalid",
                hint: "nothing was replaced")
        }
        noteDeleted(unsaved, on: device)
        let failure = result.left == 0 ? nil : Self.incomplete(result)
        let document = RestorationDocument(
            restored: result.restored, left: result.left, keptIn: recovery?.folder)
        try output.console.present(document, failure: failure) {
            output.console.note("restored \(counted(result.restored, "item", "items"))")
        }
    }

    private func isDamaged(_ device: Device) throws -> Bool { try !ProviderStore.damage(of: device).isEmpty }

    /// Returns the token-only identities that have a key; none if the keychain cannot be read, because it may be damaged.
    private static func tokenOnlyIdentities(on device: Device) -> [IdentityDocument] {
        guard let store = try? ProviderStore(existingOn: device),
            let registrations = try? TokenStore(store).unpublished()
        else { return [] }
        return registrations.filter(\.hasKey).map { IdentityDocument(IdentitySummary($0.certificate)) }
    }

    /// Prints the number of former token-only identities that the restored keychain does not contain, and the first
    /// three of them.
    private func noteDeleted(_ former: [IdentityDocument], on device: Device) {
        // The keychain was restored, so an error here must not change the exit code.
        guard !former.isEmpty, let held = try? ProviderStore(device).heldIdentities() else { return }
        let labels = Set(held.map(\.label))
        let deleted = former.filter { !labels.contains($0.label) }
        guard !deleted.isEmpty else { return }
        let names = deleted.prefix(3).map { "\($0.type) \($0.serial) of \($0.personText)" }
            .joined(separator: ", ")
        output.console.note(
            "deleted \(counted(deleted.count, "token-only identity", "token-only identities")): \(names)"
                + (deleted.count > 3 ? ", …" : ""))
    }

    private static func incomplete(_ result: KeychainRestoration) -> CommandFailure {
        CommandFailure(
            .notRestored,
            counted(result.left, "item of the backup was", "items of the backup were")
                + " not restored: bound to another device",
            hint: "to copy identities from one device to another: keyshare-provider merge DIR")
    }
}

extension KeychainRecovery {
    /// A note about the damaged keychain and the items of other apps.
    var words: String {
        "the keychain was damaged: it is kept in \(folder), and \(counted(saved, "item", "items")) of other apps were copied to the new one"
    }
}
