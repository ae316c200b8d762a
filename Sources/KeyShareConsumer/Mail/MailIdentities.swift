package import Foundation
package import KeyShareClient
package import KeySharing
package import OpenSSL
internal import PersistentToken

/// The identities that open and sign messages, from the consumer's keychain or from persistent tokens.
///
/// It caches the keys that were used. Use it in only one task.
package final class MailIdentities {
    /// The location of the keys.
    package enum Origin: Sendable {
        /// In the consumer's keychain.
        case keychain
        /// With the provider, which performs the operations.
        case token
        /// In Android's KeyChain, which performs the operations.
        case keyChain
    }

    /// An identity. Its key is loaded when it is needed.
    package struct Identity: Sendable {
        /// The summary of the identity.
        package let summary: IdentitySummary
        /// The certificate that messages identify as a recipient's or a signer's.
        package let certificate: Certificate
        /// Whether the key may sign.
        package let canSign: Bool
        /// Whether the key can open messages. A key of the keychain can, whatever its key usage.
        let canOpen: Bool
        /// The token of the identity (`kSecAttrTokenID`); nil for an identity of the keychain.
        package let tokenID: String?
        fileprivate let key: KeyLocation

        /// Whether keys of this type can sign messages, regardless of the key usage.
        fileprivate var isSupported: Bool { CMSSignature.isSupported(certificate.publicKey.type) }
    }

    /// The location of one key.
    fileprivate enum KeyLocation: Sendable {
        case keychain(ConsumerStore)
        case token(TokenPrivateKey)
    }

    /// The reason why no identity can sign.
    package enum NoSigner: Error {
        /// No identity has a key that may sign.
        case noSigningKey
        /// Every identity that may sign has expired.
        case allExpired
        /// The type of this key cannot sign messages. `other` is an identity that can.
        case unsupportedKey(Identity, other: Identity?)
    }

    /// The location of the keys.
    package let origin: Origin
    private let all: [Identity]
    /// The label of the only identity to use; nil to use all.
    private let named: String?
    private var held: [Identity] { all.filter { named == nil || $0.summary.label == named } }
    private var keys: [String: PrivateKey] = [:]

    /// Loads the identities of a keychain.
    ///
    /// - Parameters:
    ///   - store: The keychain.
    ///   - label: The name of the only identity to use; nil to use all.
    /// - Throws: `RequestError` if no identity or more than one has the name; `KeychainError`, `CertificateError`.
    package init(_ store: ConsumerStore, only label: String?) throws {
        origin = .keychain
        named = try label.map { try store.identity(named: $0).summary.label }
        all = try store.identities().map { identity in
            Identity(
                summary: identity.summary, certificate: identity.certificate,
                canSign: identity.certificate.capabilities(of: .private).canSign, canOpen: true, tokenID: nil,
                key: .keychain(store))
        }
    }

    /// Loads the identities of tokens. Each operation with a key blocks the thread until the provider has replied.
    ///
    /// - Parameters:
    ///   - keychain: The tokens.
    ///   - client: The connection to the provider, which must remain open while keys are used.
    ///   - label: The name of the only identity to use; nil to use all.
    /// - Throws: `RequestError` if no identity or more than one has the name.
    package convenience init(_ keychain: TokenKeychain, through client: ProviderClient, only label: String?)
        throws
    {
        self.init(
            keychain.identities(), through: client, .token,
            only: try label.map { try keychain.identity(named: $0).summary.label })
    }

    /// Loads the identities of KeyChain's entries. Each operation with a key blocks the thread until KeyChain has
    /// replied.
    ///
    /// - Parameters:
    ///   - keychain: The entries.
    ///   - client: The connection to the provider, which must remain open while keys are used.
    ///   - alias: The alias, label or serial number of the only identity to use; nil to use all.
    /// - Throws: `RequestError` if no identity or more than one has the name.
    package convenience init(
        _ keychain: AliasKeychain, through client: ProviderClient, only alias: String?
    ) throws {
        self.init(
            keychain.members.map(\.identity), through: client, .keyChain,
            only: try alias.map { try keychain.identity(named: $0).summary.label })
    }

    private init(
        _ found: [TokenIdentity], through client: ProviderClient, _ origin: Origin, only label: String?
    ) {
        self.origin = origin
        named = label
        let byLabel = Dictionary(
            found.map { ($0.summary.label, $0) }, uniquingKeysWith: { first, _ in first })
        // The order of the identities in a keychain.
        let sorted = SortedIdentities(found.map(\.summary), under: .keySharing2025).identities
        all = sorted.compactMap { byLabel[$0.label] }.map { identity in
            let properties = identity.entry.properties
            return Identity(
                summary: identity.summary, certificate: identity.certificate, canSign: properties.canSign,
                canOpen: properties.canDecrypt || properties.canPerformKeyExchange,
                tokenID: identity.entry.tokenID,
                key: .token(TokenPrivateKey(identity, through: client)))
        }
    }

    /// Returns the certificate and the key of a recipient; nil if no identity matches.
    ///
    /// - Throws: `CMSError.Code.unsuitableKey` if the key of a token may not decrypt; `KeychainError`, for example if the
    ///   device is locked; `CertificateError`.
    package func key(of recipient: CMSRecipient) throws -> (certificate: Certificate, key: PrivateKey)? {
        guard let identity = held.first(where: { recipient.isHolder(of: $0.certificate) }) else { return nil }
        guard identity.canOpen else {
            throw CMSError(
                .unsuitableKey, "the key usage of \(identity.certificate) does not allow decryption")
        }
        return (identity.certificate, try key(of: identity))
    }

    /// Returns the token that holds the identity with this label; nil for an identity of the keychain.
    package func tokenID(of label: String) -> String? {
        held.first { $0.summary.label == label }?.tokenID
    }

    /// Chooses the identity that signs: the newest valid one of type signature, or otherwise the newest whose key may
    /// sign.
    ///
    /// Keys of types that cannot sign messages, such as Ed25519, are skipped.
    ///
    /// - Returns: The identity, its key, and the valid identities that were skipped because of their key type.
    /// - Throws: `NoSigner`; `CMSError` if the named identity must not sign; `KeychainError`, `CertificateError`.
    package func signer(at now: Date) throws -> (identity: Identity, key: PrivateKey, skipped: [Identity]) {
        let able = held.filter(\.canSign)
        if held.count == 1, let only = held.first {
            guard only.isSupported else { throw unsupported(only, at: now) }
            // For a token's key, the provider decides which operations are permitted.
            if able.isEmpty, origin == .keychain {
                throw CMSError(
                    .unsuitableKey, "the key usage of \(only.certificate) does not allow signatures")
            }
            if able.isEmpty { return (only, try key(of: only), []) }
        }
        let valid = able.filter { $0.certificate.isValid(at: now) }
        let skipped = Self.newest(valid).flatMap { $0.isSupported ? nil : $0 }
        let best = Self.newest(valid.filter(\.isSupported)) ?? (held.count == 1 ? able.first : nil)
        guard let best else {
            if let skipped { throw unsupported(skipped, at: now) }
            throw able.isEmpty ? NoSigner.noSigningKey : .allExpired
        }
        return (best, try key(of: best), skipped == nil ? [] : valid.filter { !$0.isSupported })
    }

    /// The first identity of type signature, or otherwise the first one. Identities are sorted from new to old.
    private static func newest(_ identities: [Identity]) -> Identity? {
        identities.first { $0.summary.type(under: .keySharing2025) == .signature } ?? identities.first
    }

    private func unsupported(_ identity: Identity, at now: Date) -> NoSigner {
        .unsupportedKey(
            identity,
            other: Self.newest(
                all.filter { $0.canSign && $0.isSupported && $0.certificate.isValid(at: now) }))
    }

    private func key(of identity: Identity) throws -> PrivateKey {
        let label = identity.summary.label
        if let key = keys[label] { return key }
        let key =
            switch identity.key {
            case .keychain(let store): try store.privateKey(of: label)
            case .token(let external): try PrivateKey(external)
            }
        keys[label] = key
        return key
    }
}
