import ArgumentParser
import CommandSupport
import DeviceSimulation
import KeyShareConsumer
import KeySharing
import OpenSSL
import PersistentToken
import SimulatedKeychain

struct ShowImported: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about one identity in the consumer's keychain.",
        discussion: """
            If the app's own access groups do not contain the identity, the group com.apple.token is searched. The \
            provider must be running for this.

            EXAMPLE:
              label=$(keyshare-consumer list --json | grep -om1 '[0-9A-F]\\{64\\}')
              keyshare-consumer show $label
            """)

    @Argument(
        help: "The identity's label or serial number, or a unique prefix.", completion: .consumerLabels)
    var label: String

    @OptionGroup var access: TokenAccessOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let console = output.console
        let store = try ConsumerStore(try access.device.openDevice())
        let identity: StoredIdentity
        do {
            identity = try store.identity(named: label)
        } catch let error as RequestError where error.code == .noSuchIdentity {
            let token = try await access.withToken(named: label, insteadOf: error) { $1 }
            return try console.present(HeldIdentityDocument(token))
        }
        let key = try store.privateKey(of: identity.summary.label)
        try console.present(
            HeldIdentityDocument(
                identity.certificate, key, accessibility: identity.accessibility,
                accessGroup: identity.accessGroup))
    }
}

extension HeldIdentityDocument {
    /// Creates the document for a token's identity as it appears to an app.
    init(_ token: TokenIdentity) {
        self.init(
            token.certificate, nil, accessibility: .whenPasscodeSetThisDeviceOnly,
            accessGroup: Entitlements.tokenGroup,
            token: TokenKey(token.entry.properties, isPresent: token.entry.hasKey, isAlone: false))
    }
}
