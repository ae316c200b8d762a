import ArgumentParser
import CommandSupport
import DeviceSimulation
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL
import SimulatedKeychain
import TestCredentials

struct ShowIdentity: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show all details of one identity in the provider's keychain.",
        discussion: """
            EXAMPLE:
              label=$(keyshare-provider list piv --json | grep -om1 '[0-9A-F]\\{64\\}')
              keyshare-provider show $label
            """)

    @Argument(
        help: "The identity's label or serial number, or a unique prefix.", completion: .providerLabels)
    var label: String

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let store = try ProviderStore(try device.openDevice())
        let label = try store.heldIdentities().identity(named: label).label
        let tokens = TokenStore(store)
        let registration = try tokens.registration(label)
        let isPublished = try tokens.isPublished(label)
        let token = registration.map {
            HeldIdentityDocument.TokenKey($0.properties, isPresent: $0.hasKey, isAlone: !isPublished)
        }
        let revocation = try ProvisioningStore(store).revocation(of: try store.heldCertificate(label))
        let revoked = revocation.map { (date: $0.date, reason: $0.reason.rawValue) }
        if let registration, !isPublished {
            // Leave the key closed: opening it would prompt the user.
            return try output.console.present(
                HeldIdentityDocument(
                    registration.certificate, nil, accessibility: TokenStore.accessibility,
                    accessGroup: App.tokenGroup, token: token, revoked: revoked))
        }
        let identity = try store.identity(label)
        let attributes = try store.keychain.identity(label: label, accessGroup: store.sharedGroup).attributes
        try output.console.present(
            HeldIdentityDocument(
                identity.certificate, identity.privateKey, accessibility: attributes.accessibility,
                accessGroup: attributes.accessGroup, token: token, revoked: revoked))
    }
}
