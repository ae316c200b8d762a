import CommandSupport
import Foundation
import KeyShareConsumer
import KeySharing
import OpenSSL

extension MailIdentities {
    /// Runs `body` with the identities that the options select.
    ///
    /// - Parameters:
    ///   - access: The device, and the access to tokens.
    ///   - source: The location of the keys.
    ///   - label: The name of the only identity to use; nil to use all.
    ///   - body: Opens or signs messages. It blocks while a token's key is used.
    /// - Throws: Any error of the search for identities and tokens, or of `body`. `CommandFailure` (7) if a token's
    ///   signature does not verify.
    static func withIdentities(
        of access: TokenAccessOptions, from source: Origin, only label: String?,
        _ body: (MailIdentities) throws -> Void
    ) async throws {
        do {
            switch source {
            case .keychain:
                try body(MailIdentities(try ConsumerStore(try access.device.openDevice()), only: label))
            case .token:
                try await access.withTokens { client, keychain in
                    try body(MailIdentities(keychain, through: client, only: label))
                }
            case .keyChain:
                try await access.withAliases { client, keychain in
                    try body(MailIdentities(keychain, through: client, only: label))
                }
            }
        } catch is TokenPrivateKey.UnprovedSignature {
            throw CommandFailure.unprovedSignature
        }
    }

    /// Chooses the identity that signs, like ``signer(at:)``.
    ///
    /// - Throws: `CommandFailure` 9 if there is none, 7 if only keys of other types are available; the errors of
    ///   ``signer(at:)``.
    func requireSigner(at now: Date) throws -> (identity: Identity, key: PrivateKey, skipped: [Identity]) {
        do {
            return try signer(at: now)
        } catch let problem as NoSigner {
            throw failure(problem)
        }
    }

    private func failure(_ problem: NoSigner) -> CommandFailure {
        switch problem {
        case .noSigningKey:
            CommandFailure(.noSuchItem, "no identity has a key that can sign messages", hint: signerHint)
        case .allExpired:
            CommandFailure(
                .noSuchItem, "every identity that could sign has expired", hint: signerHint)
        case .unsupportedKey(let identity, let other):
            CommandFailure(
                CMSError(
                    .unsuitableKey,
                    "\(identity.summary.label) has a key of type \(identity.certificate.publicKey.type.name); "
                        + "only RSA, EC and DSA keys sign messages") as any Error
            ).advising(other.map { "use another identity: --label \($0.summary.label)" } ?? signerHint)
        }
    }

    private var signerHint: String {
        switch origin {
        case .keychain:
            "import one: keyshare-consumer import Signature.zip --uti "
                + IdentitySelector.signature.zipType(under: .keySharing2025)
        case .token: "register one: keyshare-provider token add --types signature"
        case .keyChain: "install one: keyshare-provider alias add --types signature"
        }
    }
}

extension CommandFailure {
    /// The failure of a key use whose signature does not verify.
    static let unprovedSignature = CommandFailure(
        .validationFailed, "the signature does not verify with the public key of the certificate")
}
