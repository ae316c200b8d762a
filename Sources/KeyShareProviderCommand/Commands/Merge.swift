import TestCredentials
import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import Foundation
import KeyShareProvider
import PrivateFiles
import SimulatedKeychain

struct Merge: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Add the identities of other devices' providers to the provider's keychain.",
        discussion: """
            Existing identities and authorities are kept, so a second merge changes nothing. If any device has revoked \
            a certificate, it is revoked in the result.

            Persistent tokens are merged with their keys, including those of token-only identities. To merge tokens, \
            every device must be unlocked and have a passcode.

            EXAMPLE:
              keyshare-provider merge part-1 part-2 --device whole
            """)

    @Argument(
        help: ArgumentHelp("Folders of other simulated devices.", valueName: "dir"), completion: .directory)
    var devices: [String]

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        for folder in devices {
            guard try Device.isThere(folder: folder) else {
                throw CommandFailure(
                    .noSuchItem, "there is no device in \(folder)", hint: "specify the folder of a device")
            }
        }
        let device = try device.makeDevice(noting: console.note)
        let use = try device.lockShared()
        defer { use.release() }
        let store = try ProviderStore(device)
        let lock = try ProvisioningStore(store).lockProvisioning()
        defer { lock.release() }
        var (added, registered) = (0, 0)
        for (number, folder) in devices.enumerated() {
            var problems: [IntegrityProblem] = []
            do {
                let other = try ProviderStore(try Device(folder: folder))
                let merged = try ProvisioningStore(store).merge(
                    other,
                    progress: { seen in
                        console.progress("device \(number + 1) of \(devices.count): \(seen) identities")
                    },
                    report: { problems.append($0) })
                added += merged.added
                registered += merged.registered
            } catch  where !problems.isEmpty {
                console.progress(nil)
                Console.problems(problems)
                throw CommandFailure(
                    .unsoundBackup, "an identity of the device is invalid",
                    hint: number == 0 ? "nothing was added" : "nothing was added from this device"
                ).about(folder)
            } catch let error as KeychainError where error.code == .interactionNotAllowed {
                throw CommandFailure(error).about(folder).advising(
                    "unlock both devices; both need a passcode")
            } catch {
                throw CommandFailure(error).about(folder)
            }
        }
        console.progress(nil)
        try console.present(MergeDocument(added: added, registered: registered)) {
            let tokens = registered == 0 ? "" : " and \(counted(registered, "token", "tokens"))"
            console.note("added \(counted(added, "identity", "identities"))\(tokens)")
        }
    }
}
