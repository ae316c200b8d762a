import Foundation
import CommandSupport
import KeyShareConsumer
import KeySharing
import OpenSSL

/// The identities of the consumer's keychain that open and sign mails.
final class MailKeys {
    private let store: ConsumerStore
    private let held: [StoredIdentity]
    private var keys: [String: PrivateKey] = [:]

    /// The identities of a keychain.
    ///
    /// - Parameter label: names the only identity that is used; nil for all of them.
    /// - Throws: `RequestError` where the name names none or several; `KeychainError`, `CertificateError`.
    init(_ store: ConsumerStore, only label: String?) throws {
        self.store = store
        held = try label.map { [try store.identity(named: $0)] } ?? store.identities()
    }

    /// The certificate and the key of a recipient; nil where the keychain does not have it.
    ///
    /// - Throws: `KeychainError`, such as on a locked device; `CertificateError`.
    func key(of recipient: CMSRecipient) throws -> (certificate: Certificate, key: PrivateKey)? {
        guard let identity = held.first(where: { recipient.isHolder(of: $0.certificate) }) else { return nil }
        return (identity.certificate, try key(of: identity))
    }

    /// The identity that signs: the newest of type signature that is valid, or else the newest whose key may sign.
    ///
    /// - Throws: `CommandFailure` 9 where there is none; `CMSError` where the identity that was named must not sign;
    ///   `KeychainError`, `CertificateError`.
    func signer(at now: Date) throws -> (identity: StoredIdentity, key: PrivateKey) {
        let able = held.filter { $0.certificate.capabilities(of: .private).canSign }
        if held.count == 1, able.isEmpty, let only = held.first {
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
                hint: "import one: keyshare-consumer import Signature.zip --uti "
                    + Selector.signature.zipType(.keySharing2025))
        }
        return (best, try key(of: best))
    }

    private func key(of identity: StoredIdentity) throws -> PrivateKey {
        let label = identity.summary.label
        if let key = keys[label] { return key }
        let key = try store.privateKey(of: label)
        keys[label] = key
        return key
    }
}
