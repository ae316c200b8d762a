import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import KeyShareProvider
import PrivateFiles
import SimulatedKeychain
import TestCredentials

struct ClearProvider: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Empty the provider's keychain: identities, authorities and password.",
        discussion: """
            A keychain in which check finds damage or altered records is moved aside, and the items of other apps \
            that can still be opened are copied to a new one. No provider may be running in that case.

            EXAMPLE:
              keyshare-provider clear --yes
            """)

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let device = try device.openDevice()
        var removed = 0
        var recovery: KeychainRecovery?
        if try ProviderStore.damage(of: device).isEmpty {
            let store = try ProviderStore(device)
            try confirmation.confirm("Remove everything from the provider's keychain?")
            let lock = try ProvisioningStore(store).lockProvisioning()
            defer { lock.release() }
            removed = try store.removeAll()
        } else {
            try confirmation.confirm("The keychain is damaged. Move it aside and create a new one?")
            let lock = try device.lockExclusively()
            defer { lock.release() }
            // Another process may have replaced the keychain before this one had the lock.
            if try ProviderStore.damage(of: device).isEmpty {
                removed = try ProviderStore(device).removeAll()
            } else {
                recovery = try ProviderStore.recover(
                    device, from: nil, replaced: { console.note($0.words) })
            }
        }
        try ServiceBehaviour.store(nil, on: device)
        try console.present(RemovalDocument(removed: removed, keptIn: recovery?.folder)) {
            if recovery == nil { console.note("removed \(counted(removed, "item", "items"))") }
        }
    }
}
