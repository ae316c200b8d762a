import CommandSupport
import Foundation
import KeyShareClient
import KeyShareConsumer
import KeySharing
import OpenSSL
import PersistentToken

/// The identities that open and sign mails: those of the consumer's keychain, or those of persistent tokens.
final class MailKeys {
    /// Where the keys are.
    enum Origin {
        /// In the consumer's keychain.
        case keychain
        /// With the provider, which uses them.
        case token
    }

    /// An identity, whose key is loaded when it is needed.
    struct Identity {
        let summary: IdentitySummary
        let certificate: Certificate
        /// Whether the key may sign.
        let canSign: Bool
        /// The token that the identity is one of (`kSecAttrTokenID`); nil for one of the keychain.
        let tokenID: String?
        fileprivate let key: () throws -> PrivateKey
    }

    /// Where the keys are.
    let origin: Origin
    private let held: [Identity]
    private var keys: [String: PrivateKey] = [:]

    /// The identities of a keychain.
    ///
    /// - Parameter label: names the only identity that is used; nil for all of them.
    /// - Throws: `RequestError` where the name names none or several; `KeychainError`, `CertificateError`.
    init(_ store: ConsumerStore, only label: String?) throws {
        origin = .keychain
        held = try (label.map { [try store.identity(named: $0)] } ?? store.identities()).map { identity in
            Identity(
                summary: identity.summary, certificate: identity.certificate,
                canSign: identity.certificate.capabilities(of: .private).canSign, tokenID: nil
            ) { try store.privateKey(of: identity.summary.label) }
        }
    }

    /// The identities of tokens. Each use of a key blocks the thread until the provider has answered.
    ///
    /// - Parameters:
    ///   - keychain: the tokens.
    ///   - client: the connection to the provider, which must stay open while a key is used.
    ///   - label: names the only identity that is used; nil for all of them.
    /// - Throws: `RequestError` where the name names none or several.
    init(_ keychain: TokenKeychain, through client: ProviderClient, only label: String?) throws {
        origin = .token
        let found = try label.map { [try keychain.identity(named: $0)] } ?? keychain.identities()
        let byLabel = Dictionary(
            found.map { ($0.summary.label, $0) }, uniquingKeysWith: { first, _ in first })
        // In the order in which the identities of a keychain stand.
        let sorted = SortedIdentities(found.map(\.summary), under: .keySharing2025).identities
        held = sorted.compactMap { byLabel[$0.label] }.map { identity in
            Identity(
                summary: identity.summary, certificate: identity.certificate,
                canSign: identity.entry.properties.canSign, tokenID: identity.entry.tokenID
            ) {
                try identity.privateKey { use in
                    let result = try client.useAndWait(use)
                    try identity.requireProof(result, of: use)
                    return result
                }
            }
        }
    }

    /// Runs `body` with the identities that the options mean.
    ///
    /// - Parameters:
    ///   - access: the device, and how tokens are found.
    ///   - isToken: whether the keys of tokens are meant, in place of imported ones.
    ///   - label: names the only identity that is used; nil for all of them.
    ///   - body: opens or signs. It blocks while a token's key is used.
    /// - Throws: what finding the identities and tokens throws, and what `body` throws.
    static func withKeys(
        of access: TokenAccessOptions, isToken: Bool, only label: String?, _ body: (MailKeys) throws -> Void
    ) async throws {
        guard isToken else {
            return try body(MailKeys(try ConsumerStore(try access.device.openDevice()), only: label))
        }
        try await access.withTokens { client, keychain in
            try body(MailKeys(keychain, through: client, only: label))
        }
    }

    /// The certificate and the key of a recipient; nil where it is none of these.
    ///
    /// - Throws: `KeychainError`, such as on a locked device; `CertificateError`.
    func key(of recipient: CMSRecipient) throws -> (certificate: Certificate, key: PrivateKey)? {
        guard let identity = held.first(where: { recipient.isHolder(of: $0.certificate) }) else { return nil }
        return (identity.certificate, try key(of: identity))
    }

    /// The token whose key opened a message; nil for an identity of the keychain.
    func tokenID(of label: String) -> String? {
        held.first { $0.summary.label == label }?.tokenID
    }

    /// The identity that signs: the newest of type signature that is valid, or else the newest whose key may sign.
    ///
    /// - Throws: `CommandFailure` 9 where there is none; `CMSError` where the identity that was named must not sign;
    ///   `KeychainError`, `CertificateError`.
    func signer(at now: Date) throws -> (identity: Identity, key: PrivateKey) {
        let able = held.filter(\.canSign)
        if held.count == 1, able.isEmpty, let only = held.first {
            // What a token's key may do is the token's to say.
            if origin == .token { return (only, try key(of: only)) }
            throw CMSError(
                .unsuitableKey,
                "the key usage of \(only.certificate) does not allow signatures")
        }
        let valid = able.filter { $0.certificate.isValid(at: now) }
        let best =
            valid.first { $0.summary.type(.keySharing2025) == .signature } ?? valid.first
            ?? (held.count == 1 ? able.first : nil)
        guard let best else {
            throw CommandFailure(
                .noSuchItem,
                able.isEmpty
                    ? "no identity here has a key that signs"
                    : "every identity here that could sign has expired",
                hint: signerHint)
        }
        return (best, try key(of: best))
    }

    private var signerHint: String {
        switch origin {
        case .keychain:
            "import one: keyshare-consumer import Signature.zip --uti "
                + Selector.signature.zipType(.keySharing2025)
        case .token: "register one: keyshare-provider token add --types signature"
        }
    }

    private func key(of identity: Identity) throws -> PrivateKey {
        let label = identity.summary.label
        if let key = keys[label] { return key }
        let key = try identity.key()
        keys[label] = key
        return key
    }
}
