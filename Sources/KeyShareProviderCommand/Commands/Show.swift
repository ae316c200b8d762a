import ArgumentParser
import CommandSupport
import DeviceSimulation
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL
import TestCredentials

struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about one identity of the provider's keychain.",
        discussion: """
            EXAMPLE:
              label=$(keyshare-provider list piv --json | grep -om1 '[0-9A-F]\\{64\\}')
              keyshare-provider show $label
            """)

    @Argument(
        help: "The identity's label or serial number, or enough of its start.", completion: .providerLabels)
    var label: String

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let store = try ProviderStore(try device.openDevice())
        let label = try store.identities().identity(named: label).label
        let identity = try store.identity(label)
        let attributes = try store.keychain.identity(label: label, accessGroup: store.sharedGroup).attributes
        let revocation = try store.revocation(of: identity.certificate)
        try output.console.present(
            HeldIdentityDocument(
                identity.certificate, identity.privateKey, accessibility: attributes.accessibility,
                accessGroup: attributes.accessGroup,
                revoked: revocation.map { (date: $0.date, reason: $0.reason.rawValue) }))
    }
}
