internal import DeviceSimulation
internal import Foundation
internal import KeyShareProtocol
internal import KeyShareServer
internal import KeyShareWire
internal import KeySharing
internal import OpenSSL
internal import SecretMemory
internal import SimulatedKeychain

/// A provider of one item: the credential from its app's keychain, sealed with the service password in place of PKCS
/// #12 encryption.
struct OneItemProvider: ProviderService {
    /// The file name of the provider's only item.
    static let filename = "credential.p12"
    /// The data that the seal authenticates together with the credential.
    static let associatedData = Array(identifier.utf8)

    private static let identifier = "credential"
    private static let service = Identifier.keySharingChannel
    private static let passwordService = Identifier.keySharingChannelPassword
    private static let accessibility = Accessibility.afterFirstUnlockThisDeviceOnly

    private let keychain: Keychain
    private let deviceState: DeviceStateWatch
    private let group: String
    /// The service password. It is generated on first use and never changes.
    private let password: SecretBytes

    /// Creates the provider of the sending app, and its service password on first use.
    ///
    /// - Throws: `KeychainError` `interactionNotAllowed` before the device's first unlock, or another error of the
    ///   keychain.
    init(_ ends: ChannelEndpoints) throws(KeychainError) {
        keychain = try Keychain(device: ends.device, app: ends.sender)
        deviceState = DeviceStateWatch(ends.device)
        group = Self.group(of: ends)
        password = try keychain.createOrReadPassword(
            service: Self.passwordService, account: "", accessibility: Self.accessibility,
            accessGroup: group, make: MasterKey.random)
    }

    /// Stores the credential, replacing an earlier one.
    ///
    /// - Throws: `KeychainError`.
    func keep(_ credential: Credential) throws(KeychainError) {
        try keychain.setPassword(
            credential.encoded, service: Self.service, account: "", accessibility: Self.accessibility,
            accessGroup: group)
    }

    /// Deletes the sender's credential in any state of the device. It has no effect if there is no credential.
    ///
    /// - Throws: `KeychainError`.
    static func removeCredential(of ends: ChannelEndpoints) throws(KeychainError) {
        try Keychain(device: ends.device, app: ends.sender).deletePassword(
            service: service, account: "", accessGroup: group(of: ends))
    }

    func page(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        guard container == Item.root, cursor == nil else { throw Self.missing }
        return ItemPage(items: try isThere() ? [Self.item] : [], nextCursor: nil)
    }

    func item(_ identifier: String) async throws(ProviderFailure) -> Item {
        guard identifier == Self.identifier, try isThere() else { throw Self.missing }
        return Self.item
    }

    func services(for identifier: String) async throws(ProviderFailure) -> [String] {
        _ = try await item(identifier)
        return [PasswordService.name]
    }

    func content(of identifier: String) async throws(ProviderFailure) -> [UInt8] {
        try answering {
            guard identifier == Self.identifier,
                let credential = try keychain.password(
                    service: Self.service, account: "", accessGroup: group)
            else { throw Self.missing }
            return try SealingKey(password).seal(credential, associatedData: Self.associatedData)
        }
    }

    func password(for identifier: String) throws(ProviderFailure) -> SecretBytes {
        try answering {
            try Keychain.check(Self.accessibility, isAvailableIn: deviceState.status().state)
            return password
        }
    }

    func grantPeriod() throws(ProviderFailure) -> UInt64 {
        try answering { try deviceState.status().lockCount }
    }

    func present(
        _ types: [String], after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage { ItemPage(items: [], nextCursor: nil) }

    func choose(_ row: String, types: [String]) async throws(ProviderFailure) -> LegacyExport {
        throw Self.missing
    }

    func identityFacts(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage { IdentityFactsPage(facts: [], nextCursor: nil) }

    func identities(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage { IdentityFactsPage(facts: [], nextCursor: nil) }

    /// The sender's own keychain group, which the receiver is not entitled to.
    private static func group(of ends: ChannelEndpoints) -> String { ends.sender.applicationIdentifier }

    private static let missing = ProviderFailure(.notAvailable, "there is no such item")

    private static let item = Item(
        identifier: identifier, filename: filename, kind: .pkcs12,
        contentType: Mechanism.keySharing2025.plainType, parent: Item.root, size: nil,
        created: Date(timeIntervalSince1970: 0))

    /// Returns whether the keychain contains a credential.
    private func isThere() throws(ProviderFailure) -> Bool {
        try answering {
            do throws(KeychainError) {
                let query = KeychainQuery(.genericPassword, service: Self.service, accessGroup: group)
                return try !keychain.copyMatching(query).isEmpty
            } catch {
                guard error.code == .itemNotFound else { throw error }
                return false
            }
        }
    }

    /// Runs `body` and converts its errors to failures that the consumer receives.
    private func answering<Value>(_ body: () throws -> Value) throws(ProviderFailure) -> Value {
        do {
            return try body()
        } catch let failure as ProviderFailure {
            throw failure
        } catch let error as KeychainError where error.code == .interactionNotAllowed {
            throw ProviderFailure(.refused, error.reason)
        } catch {
            throw ProviderFailure(.serviceFailed, "the credential cannot be returned: \(error)")
        }
    }
}
